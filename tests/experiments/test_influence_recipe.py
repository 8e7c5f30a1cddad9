"""The recipe `influence`: trains a pair, keeps it, resumes it, measures it; on a small text, with tiny models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.experiments import influence
from lengthwise.experiments import influence as recipe
from lengthwise.experiments import recipes as _recipes  # noqa: F401
from lengthwise.experiments.events import Report, silent
from lengthwise.experiments.influence import passage_windows
from lengthwise.experiments.recipe import RECIPES
from lengthwise.experiments.run import run_study
from lengthwise.experiments.run_directory import run_directory
from lengthwise.influence import corpus
from lengthwise.influence import lm as lm_config
from lengthwise.influence import lm as train_lm
from lengthwise.influence.corpus import Document, windows
from lengthwise.influence.tokenizer import Bytes

TINY = {
    "tokenizer": "bytes", "layers": 1, "heads": 2, "width": 16, "steps": 6, "batch_tokens": 96, "warmup": 1,
    "probe_every": 2,
}  # fmt: skip


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    names = "abcdefghijkl"
    documents = [Document(f"{name}.txt", f"{name} rose is {name} rose, said {name}.\n" * 8) for name in names]
    monkeypatch.setattr(corpus, "standard_library", lambda: corpus.split("small", documents))
    monkeypatch.setitem(lm_config.LM_PRESETS, "quick", TINY)
    monkeypatch.setattr(lm_config, "LONG", 24)
    monkeypatch.setattr(lm_config, "SHORT", 8)
    monkeypatch.setattr(recipe, "CONTEXT", 24)
    monkeypatch.setattr(recipe, "RECENT", 8)
    monkeypatch.setitem(recipe.TARGETS, "quick", 10)
    monkeypatch.setattr(train_lm, "MEASURED", 16)
    monkeypatch.setattr(influence, "PASSAGE_TARGETS", 8)


(JOB,) = RECIPES.make("influence", "quick").jobs


def folder_in(out: Path) -> Path:
    return run_directory(out, "influence", JOB.work, 0)


def run(out: Path, report: Report = silent) -> dict[str, Any]:
    return run_study(JOB.work, 0, folder_in(out), report).to_json()


def test_it_trains_measures_and_is_reused(tmp_path: Path) -> None:
    result = run(tmp_path)
    path = folder_in(tmp_path) / "result.json"
    before = path.read_bytes()
    assert (result["kind"], result["preset"], result["seed"]) == ("influence", "quick", 0)
    assert (result["config"]["context"], result["config"]["recent"]) == (24, 8)
    assert result["model"]["name"] == "quick model trained at 24"
    assert result["chooser"]["name"] == result["extrapolator"]["name"] == "quick model trained at 8 with PoSE"
    # The models have only seen the other documents.
    held_out = {document.name for document in corpus.standard_library().held_out}
    assert {target["document"] for target in result["targets"]} <= held_out
    assert all("cross" in target and "extrapolation" in target for target in result["targets"])
    assert {"long", "short"} == set(result["pair"])
    assert len(result["passages"]) == min(2, len(held_out))
    assert run(tmp_path) == result
    assert path.read_bytes() == before


def test_an_interrupted_training_goes_on_and_finished_models_stay(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole")

    def interrupt(what: str, done: int, total: int, number: float = 0.0, /) -> None:
        if what == "short model: train" and done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "cut", interrupt)
    folder = folder_in(tmp_path / "cut")
    assert not (folder / "result.json").exists()
    trained = (folder / "long" / "model.safetensors").stat().st_mtime_ns
    steps = []

    def watch(what: str, done: int, total: int, number: float = 0.0, /) -> None:
        if what == "short model: train":
            steps.append(done)

    resumed = run(tmp_path / "cut", watch)
    assert (folder / "long" / "model.safetensors").stat().st_mtime_ns == trained
    # Steps 1 and 2 are in the checkpoint.
    assert steps == [3, 4, 5, 6]
    assert resumed["targets"] == whole["targets"]
    assert resumed["summary"] == whole["summary"]


def test_models_of_another_text_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(what: str, done: int, total: int, number: float = 0.0, /) -> None:
        if what == "long model: train":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, interrupt)
    documents = [Document(f"{name}.txt", "something else " * 30) for name in "abcdefghijkl"]
    monkeypatch.setattr(corpus, "standard_library", lambda: corpus.split("small", documents))
    with pytest.raises(LengthwiseError, match="holds a model of another text"):
        run(tmp_path)


def test_passages_are_stretches_around_the_targets_that_gain_most() -> None:
    tokenizer = Bytes()
    documents = [Document(name, "".join(chr(65 + i % 57) for i in range(size))) for name, size in
                 (("a", 400), ("b", 30), ("c", 150), ("d", 90))]  # fmt: skip
    drawn = windows(documents, tokenizer, 20, 12, np.random.default_rng(0))
    measured = [{"short": float(index), "long": 0.0} for index in range(12)]
    stretches = passage_windows(documents, tokenizer, drawn, measured)
    # The last targets gain most: documents d and c.
    assert [drawn.names[stretch.documents[0]] for stretch in stretches] == ["d", "c"]
    for stretch in stretches:
        text = tokenizer.encode(documents[int(stretch.documents[0])].text)
        offsets = stretch.offsets.tolist()
        assert offsets == list(range(offsets[0], offsets[-1] + 1))
        assert len(offsets) == min(influence.PASSAGE_TARGETS, len(text) - 20)
        assert offsets[0] >= 20
        for row, at in zip(stretch.tokens.tolist(), offsets, strict=True):
            assert row == text[at - 20 : at + 1]
    best = int(drawn.offsets[max(np.flatnonzero(drawn.documents == 2))])
    assert best in stretches[1].offsets
