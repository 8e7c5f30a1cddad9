"""The recipe `self-improvement`: its rows, its control, and that a second run trains nothing again."""

from __future__ import annotations

from pathlib import Path

import pytest
import self_improvement as recipe

from lengthwise.core.files import read_json
from lengthwise.experiments import recipes as _recipes  # noqa: F401
from lengthwise.experiments.events import silent
from lengthwise.experiments.recipe import RECIPES
from lengthwise.experiments.run import run_study
from lengthwise.training.trainer import Trainer


def test_rounds_and_control_are_measured_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {
        "FIRST": 1, "LAST": 3, "VOTERS": 2, "STEPS": 30, "MORE": 2, "PROMPTS": 10, "TESTS": (1, 3), "SAMPLES": 5,
    }.items():  # fmt: skip
        monkeypatch.setattr(recipe, name, value)
    (job,) = RECIPES.make("self-improvement", "quick").jobs
    run_study(job.work, 0, tmp_path, silent)
    values = read_json(tmp_path / "study.json")
    control = values["rows"][-1]
    assert (control["system"], control["longest"], control["labels"]) == ("control", 1, None)
    rounds = values["rows"][:-1]
    assert [row["longest"] for row in rounds] == list(range(1, len(rounds) + 1))
    assert all(set(exact) == {"1", "3"} for row in values["rows"] for exact in row["exact"])
    assert [len(row["exact"]) for row in values["rows"]] == [*[2] * len(rounds), 1]
    for row in rounds[1:]:
        labels = row["labels"]
        assert 0 <= labels["right"] <= labels["kept"] == 10 - sum(labels["dropped"].values())
    (tmp_path / "study.json").unlink()
    monkeypatch.setattr(Trainer, "step", lambda *_: pytest.fail("trained again"))
    run_study(job.work, 0, tmp_path, silent)
    assert read_json(tmp_path / "study.json")["rows"] == values["rows"]
