"""The recipe `influence-far` on a small text with tiny models: curves, four measurements, resuming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import influence_far as recipe
import pytest

from lengthwise.experiments import recipes as _recipes  # noqa: F401
from lengthwise.experiments.events import Report, silent
from lengthwise.experiments.recipe import RECIPES
from lengthwise.experiments.run import run_study
from lengthwise.influence import corpus
from lengthwise.influence import lm as train_lm
from lengthwise.influence.corpus import Document

TINY = {
    "tokenizer": "bytes", "layers": 1, "heads": 2, "width": 16, "steps": 4, "warmup": 1, "probe_every": 2,
}  # fmt: skip


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [
        Document(f"{name}.txt", "".join(f"{name} rose {n} is {name} rose, said {n * n}.\n" for n in range(40)))
        for name in "abcdefghijkl"
    ]
    monkeypatch.setattr(corpus, "standard_library", lambda: corpus.split("small", documents))
    monkeypatch.setitem(recipe.FIELDS, "quick", TINY)
    monkeypatch.setattr(recipe, "TRAINED", {"context": 160, "batch_tokens": 320})
    monkeypatch.setattr(recipe, "PROBED", 3)
    monkeypatch.setitem(recipe.TARGETS, "quick", 2)
    monkeypatch.setattr(recipe, "CONTEXT", 80)
    monkeypatch.setattr(train_lm, "MEASURED", 8)


(JOB,) = RECIPES.make("influence-far", "quick").jobs


def run(folder: Path, report: Report = silent) -> dict[str, Any]:
    return run_study(JOB.work, 0, folder, report).to_json()  # type: ignore[arg-type]


def test_two_models_two_texts(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole")
    assert [(row["seed"], row["text"]) for row in whole["rows"]] == [
        (seed, text) for seed in (100, 101) for text in ("with quotations", "as it is")
    ]
    for row in whole["rows"]:
        assert row["gain"] == pytest.approx(row["short"] - row["long"])
        assert row["enough"] == (row["gain"] >= recipe.NEEDED)
        assert {"greedy", "attention"} <= set(row["summary"]["rules"])
        assert row["summary"]["cross"]
        assert row["summary"]["null"]
    for training in whole["training"].values():
        assert [point["step"] for point in training["curve"]] == [2, 4]
        assert set(training["curve"][0]["by_context"]) == {"16", "32", "64", "96", "128"}

    def interrupt(what: str, done: int, total: int, number: float = 0.0, /) -> None:
        if what == "seed 101: train" and done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "cut", interrupt)
    kept = (tmp_path / "cut" / "seed-100" / "model.safetensors").stat().st_mtime_ns

    def interrupt_again(what: str, done: int, total: int, number: float = 0.0, /) -> None:
        if what == "targets" and len([*(tmp_path / "cut").glob("rows/*.json")]) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "cut", interrupt_again)
    rows = sorted((tmp_path / "cut" / "rows").iterdir())
    assert [path.name for path in rows] == ["seed-100, as it is.json", "seed-100, with quotations.json"]
    times = [path.stat().st_mtime_ns for path in rows]
    resumed = run(tmp_path / "cut")
    assert (tmp_path / "cut" / "seed-100" / "model.safetensors").stat().st_mtime_ns == kept
    assert [path.stat().st_mtime_ns for path in rows] == times
    assert resumed["rows"] == whole["rows"]


def test_training_ends_when_the_block_is_worth_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "GOAL", -9.0)
    found = run(tmp_path)
    assert {training["steps"] for training in found["training"].values()} == {2}
