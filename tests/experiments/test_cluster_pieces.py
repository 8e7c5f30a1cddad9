"""Pieces of work under a lease, without any scheduler: nothing is trained twice, every end leaves what it should."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.experiments import cluster
from lengthwise.experiments.cluster import run_leased
from lengthwise.experiments.engine import SweepUnit, sweep
from lengthwise.experiments.execute import described, unit_of
from lengthwise.experiments.lease import acquire
from lengthwise.experiments.recipe import Job, Recipe
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import LEASES, finished, run_directory
from lengthwise.training.trainer import Trainer

TINY = RunConfig.from_json(
    {
        "task": {"name": "copy", "symbols": "repeats", "letters": 3},
        "scheme": {"name": "coupled", "max_position": 24},
        "encoding": {"name": "learned"},
        "model": {"layers": 1, "heads": 2, "width": 16, "mlp_ratio": 1},
        "training": {"max_length": 3, "steps": 6, "batch_size": 8, "groups": 2, "probe_every": 2, "stacked": True},
        "evaluation": {"lengths": [2], "samples": 8, "fit_samples": 8, "probe_samples": 6, "unfitted_too": True},
    }
)
JOB = Job("a", TINY, (0, 1))
RECIPE = Recipe("r", "", (JOB,))
PATIENCE = 0.3


def bits(out: Path) -> list[dict[str, Any]]:
    """The results without what a clock or a machine says."""
    found = []
    for seed in JOB.seeds:
        result = finished(run_directory(out, "r", TINY, seed), TINY, seed)
        assert result is not None
        values = result.to_json()
        found.append({key: value for key, value in values.items() if key not in ("seconds", "time", "machine")})
    return found


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collects every step that is trained; raises where ``-1`` has been put."""
    taken: list[int] = []
    step = Trainer.step

    def counted(self: Trainer, number: int):
        taken.append(number)
        return step(self, number)

    monkeypatch.setattr(Trainer, "step", counted)
    return taken


def interrupted_after(monkeypatch: pytest.MonkeyPatch, count: int, error: BaseException) -> None:
    step = Trainer.step

    def fails(self: Trainer, number: int):
        if number == count:
            raise error
        return step(self, number)

    monkeypatch.setattr(Trainer, "step", fails)


def test_a_piece_gives_the_results_of_a_sweep_and_no_leftovers(tmp_path: Path) -> None:
    sweep(RECIPE, tmp_path / "local")
    piece = unit_of(described(SweepUnit("r", tmp_path / "cluster", JOB)))
    assert run_leased(piece, PATIENCE).status == "finished"
    assert bits(tmp_path / "cluster") == bits(tmp_path / "local")
    assert not (tmp_path / "cluster" / "r" / LEASES).exists()
    assert run_leased(piece, PATIENCE).status == "finished"


@pytest.mark.parametrize("then", ["piece", "sweep"])
def test_a_process_that_dies_is_gone_on_with(tmp_path: Path, monkeypatch, steps: list[int], then: str) -> None:
    piece = SweepUnit("r", tmp_path / "killed", JOB)
    with monkeypatch.context() as patch:
        interrupted_after(patch, 4, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            run_leased(piece, PATIENCE)
    assert (tmp_path / "killed" / "r" / LEASES).exists()
    assert steps == [0, 1, 2, 3]
    if then == "piece":
        assert run_leased(piece, PATIENCE).status == "finished"
    else:
        monkeypatch.setattr("lengthwise.experiments.cluster.PATIENCE", PATIENCE)
        sweep(RECIPE, tmp_path / "killed")
    assert steps == [0, 1, 2, 3, 4, 5]
    assert not (tmp_path / "killed" / "r" / LEASES).exists()
    sweep(RECIPE, tmp_path / "local")
    assert bits(tmp_path / "killed") == bits(tmp_path / "local")


def test_a_local_stack_that_was_interrupted_goes_on_in_a_piece(tmp_path: Path, monkeypatch, steps: list[int]) -> None:
    with monkeypatch.context() as patch:
        interrupted_after(patch, 4, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            sweep(RECIPE, tmp_path)
    assert run_leased(SweepUnit("r", tmp_path, JOB), PATIENCE).status == "finished"
    assert steps == [0, 1, 2, 3, 4, 5]


def test_two_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lengthwise.experiments.cluster.PATIENCE", PATIENCE)
    piece = SweepUnit("r", tmp_path, JOB)
    lease = acquire(piece.leases, PATIENCE)
    assert lease is not None
    with lease.kept():
        assert run_leased(piece, PATIENCE).status == "held"
        with pytest.raises(LengthwiseError, match="a cluster is at work in"):
            sweep(RECIPE, tmp_path)


def test_what_each_end_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    piece = SweepUnit("r", tmp_path, JOB)
    for error, status in (
        (MemoryError(), "memory"),
        (LengthwiseError("no"), "failed"),
        (RuntimeError("out of memory"), "memory"),
    ):
        with monkeypatch.context() as patch:
            interrupted_after(patch, 4, error)
            assert run_leased(piece, PATIENCE).status == status
        assert bool(list((tmp_path / "r").glob("stack-*"))) == (status == "failed")
        assert not (tmp_path / "r" / LEASES).exists()
    halves = piece.parts()
    assert [half.job.seeds for half in halves] == [(0,), (1,)]
    assert [run_leased(half, PATIENCE).status for half in halves] == ["finished"] * 2
    assert [half.parts() for half in halves] == [[], []]
    bug = SweepUnit("r", tmp_path / "bug", JOB)
    with monkeypatch.context() as patch:
        interrupted_after(patch, 4, ZeroDivisionError())
        with pytest.raises(ZeroDivisionError):
            run_leased(bug, PATIENCE)


def test_a_piece_that_dies_again_and_again_needs_less_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    piece = SweepUnit("r", tmp_path, dataclasses.replace(JOB, seeds=(0,)))
    with monkeypatch.context() as patch:
        interrupted_after(patch, 1, KeyboardInterrupt())
        for _ in range(cluster.MOST_ATTEMPTS):
            with pytest.raises(KeyboardInterrupt):
                run_leased(piece, 0.05, "driver")
    outcome = run_leased(piece, 0.05, "driver")
    assert (outcome.status, outcome.what) == ("memory", "a process ended 3 times before its next checkpoint")
    assert run_leased(piece, 0.05, "another driver").status == "finished"


def test_without_the_name_of_a_driver_no_attempt_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    piece = SweepUnit("r", tmp_path, dataclasses.replace(JOB, seeds=(0,)))
    with monkeypatch.context() as patch:
        interrupted_after(patch, 1, KeyboardInterrupt())
        for _ in range(cluster.MOST_ATTEMPTS + 1):
            with pytest.raises(KeyboardInterrupt):
                run_leased(piece, 0.05)
    assert run_leased(piece, 0.05).status == "finished"
