"""Stacked seeds end in the run directories that separate runs would have made, and are never trained twice."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import read_json
from lengthwise.core.result_file import RunResult
from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.experiments import run as run_module
from lengthwise.experiments.engine import sweep
from lengthwise.experiments.events import Event, Report, silent
from lengthwise.experiments.recipe import Job, Recipe
from lengthwise.experiments.run import run_seed, train_seeds
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import run_directory
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import NoPESpec
from lengthwise.positions.schemes import Sequential
from lengthwise.tasks.addition import Addition
from lengthwise.training.config import TrainingConfig

TINY = RunConfig(
    Addition(),
    Sequential(),
    NoPESpec(),
    ModelConfig(width=16, heads=2),
    TrainingConfig(max_length=3, steps=4, batch_size=8, groups=2, probe_every=2, stacked=True),
    EvaluationConfig(lengths=(2, 3), samples=8, fit_samples=8, probe_samples=8),
)


def run_seeds(seeds: list[int], out: Path, report: Report = silent) -> list[RunResult]:
    """Train as one stack, then measure each seed, as a sweep does."""
    assert train_seeds(TINY, seeds, out, recipe="r", report=report) == {}
    return [
        run_seed(TINY, seed, run_directory(out, "r", TINY, seed), recipe="r", system="s", report=report)
        for seed in seeds
    ]


def test_stacked_seeds_leave_the_results_of_separate_runs(tmp_path: Path) -> None:
    together = run_seeds([0, 5], tmp_path / "stack")
    for seed, result in zip([0, 5], together, strict=True):
        alone = run_seed(TINY, seed, run_directory(tmp_path / "alone", "r", TINY, seed), recipe="r", system="s")
        assert result.seed == seed
        for mine, other in zip(result.probes, alone.probes, strict=True):
            assert mine["loss"] == pytest.approx(other["loss"], rel=1e-4)
        assert result.steps == alone.steps == 4
        folder = run_directory(tmp_path / "stack", "r", TINY, seed)
        assert read_json(folder / "config.json")["seed"] == seed
        assert (folder / "log.jsonl").exists()
    assert not list((tmp_path / "stack" / "r").glob("stack-*"))


def test_finished_seeds_are_not_trained_again(tmp_path: Path) -> None:
    first = run_seeds([0, 1], tmp_path)
    steps: list[str] = []
    again = run_seeds([0, 1, 2], tmp_path, lambda phase, *rest: steps.append(phase))
    assert again[:2] == first
    assert steps.count("train") == 4


class Stop(Exception):
    """An interruption."""


def _until(step: int) -> Report:
    def report(phase: str, done: int, total: int, number: float = 0.0, /) -> None:
        if phase == "train" and done == step:
            raise Stop

    return report


@pytest.fixture
def seed_zero_fits_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed 0 leaves the stack at the first probe."""
    monkeypatch.setattr(run_module, "probe", lambda experiment, model, step, seed: {"fitted": seed == 0})


LONG = TINY.edited(["training.steps=8", "training.stop_when_fitted=true"])


def _checkpoint(out: Path, seed: int) -> bytes:
    return (run_directory(out, "r", LONG, seed) / "checkpoint.safetensors").read_bytes()


@pytest.mark.usefixtures("seed_zero_fits_first")
def test_an_interrupted_stack_goes_on_when_a_seed_has_ended_in_it(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        train_seeds(LONG, [0, 1, 2], tmp_path, recipe="r", report=_until(7))
    steps: list[int] = []
    train_seeds(LONG, [0, 1, 2], tmp_path, recipe="r", report=lambda phase, done, *rest: steps.append(done))
    assert steps == [7, 8]
    assert not list((tmp_path / "r").glob("stack-*"))
    train_seeds(LONG, [0, 1, 2], tmp_path / "whole", recipe="r")
    for seed in (0, 1, 2):
        run = [json.loads(line) for line in (run_directory(tmp_path, "r", LONG, seed) / "log.jsonl").open()]
        whole = [json.loads(line) for line in (run_directory(tmp_path / "whole", "r", LONG, seed) / "log.jsonl").open()]
        assert run == whole


@pytest.mark.parametrize("seeds", [[0, 1], [0, 1, 2, 3, 4]])
def test_an_interrupted_stack_goes_on_whatever_seeds_are_asked_for(tmp_path: Path, seeds: list[int]) -> None:
    with pytest.raises(Stop):
        train_seeds(LONG, [0, 1, 2], tmp_path, recipe="r", report=_until(5))
    steps: list[int] = []
    train_seeds(LONG, seeds, tmp_path, recipe="r", report=lambda phase, done, *rest: steps.append(done))
    more = len(seeds) > 3
    assert steps == [*range(5, 9), *(range(1, 9) if more else ())]
    for seed in sorted({*seeds, 2}):
        assert _checkpoint(tmp_path, seed)
    assert not list((tmp_path / "r").glob("stack-*"))


def test_a_seed_trained_alone_since_keeps_what_it_has(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        train_seeds(LONG, [0, 1, 2], tmp_path, recipe="r", report=_until(5))
    run_seed(LONG, 1, run_directory(tmp_path, "r", LONG, 1), recipe="r", system="s")
    before = _checkpoint(tmp_path, 1)
    train_seeds(LONG, [0, 1, 2], tmp_path, recipe="r")
    assert _checkpoint(tmp_path, 1) == before
    assert _checkpoint(tmp_path, 2)


def test_a_damaged_stack_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        train_seeds(LONG, [0, 1], tmp_path, recipe="r", report=_until(3))
    for path in (tmp_path / "r").glob("stack-*/checkpoint*.safetensors"):
        path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(LengthwiseError, match="is damaged"):
        train_seeds(LONG, [0, 1], tmp_path, recipe="r")


def test_a_sweep_trains_a_stacked_system_at_once(tmp_path: Path) -> None:
    events: list[Event] = []
    recipe = Recipe("r", "", (Job("s", TINY, (0, 1, 2)),))
    result = sweep(recipe, tmp_path, progress=events.append)
    assert [row.seed for row in result.results[0]] == [0, 1, 2]
    assert sum(event.phase == "train" for event in events) == 4
    assert sum(event.phase == "finished" for event in events) == 3


def test_seeds_without_a_common_schedule_are_refused(tmp_path: Path) -> None:
    plain = dataclasses.replace(TINY, training=dataclasses.replace(TINY.training, stacked=False))
    with pytest.raises(LengthwiseError, match=r"set training\.stacked to true"):
        train_seeds(plain, [0], tmp_path, recipe="r")


def test_a_seed_that_diverges_is_named_and_the_others_are_safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lengthwise.training import trainer as losses

    original = losses.run_losses

    def diverging(output, inputs, runs):  # type: ignore[no-untyped-def]
        loss = original(output, inputs, runs)
        if runs == 2:
            loss.token[1] *= float("nan")
        return loss

    monkeypatch.setattr(losses, "run_losses", diverging)
    found = train_seeds(TINY, [0, 7], tmp_path, recipe="r")
    assert list(found) == [7]
    assert found[7].startswith("training diverged: loss is nan at step 2")
    assert (run_directory(tmp_path, "r", TINY, 0) / "checkpoint.safetensors").exists()
    assert not (run_directory(tmp_path, "r", TINY, 7) / "checkpoint.safetensors").exists()
