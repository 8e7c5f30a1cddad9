"""Comparisons and blind studies as pieces of work on a cluster, without Ray: results and resumption of local runs.

The scheduler of these tests does each piece at once in this process.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lengthwise.experiments import cluster, compare
from lengthwise.experiments.cluster import LOCAL, Cluster, ClusterOptions, run_leased
from lengthwise.experiments.compare import Budget, ModelSetting, Plan, ranked, read_plan, run_comparison
from lengthwise.experiments.events import Event
from lengthwise.experiments.execute import Outcome, Unit, described, unit_of
from lengthwise.experiments.run_directory import LEASES
from lengthwise.tasks import TASKS
from lengthwise.training.trainer import Trainer

PATIENCE = 0.2
WANTED: dict[str, Any] = {"systems": ["nope", "rope"], "max_length": 2}


class Inline(Cluster):
    """Runs a unit when it is started, from what would travel."""

    slots = 2  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__(ClusterOptions(LOCAL, patience=PATIENCE))
        self._outcomes: list[Outcome] = []

    def start(self, unit: Unit) -> int:
        self._outcomes.append(run_leased(unit_of(described(unit)), PATIENCE))
        return len(self._outcomes) - 1

    def done(self, handles: Sequence[Any], seconds: float) -> list[Any]:
        return list(handles)

    def outcome(self, handle: Any) -> Outcome:
        return self._outcomes[handle]

    def stop(self, handles: Sequence[Any]) -> None: ...


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings of a few steps on the smallest models, the same number in every comparison."""
    for module, name, value in (
        (compare, "FEWEST_STEPS", 6), (compare, "MOST_STEPS", 6), (compare, "TIMED_STEPS", 4),
        (cluster, "PATIENCE", PATIENCE),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)
    made, grid = compare.wanted_plan, (ModelSetting(1, 1e-2, 0.0), ModelSetting(1, 1e-3, 0.0))

    def small(*values: Any, **named: Any) -> Plan:
        return dataclasses.replace(
            made(*values, **named), grid=grid, width=8, heads=1, batch_size=8, samples=2, fit_samples=4
        )

    monkeypatch.setattr(compare, "wanted_plan", small)
    monkeypatch.setattr(compare, "steps_for", lambda *_: 6)


def found(folder: Path) -> list[dict[str, Any]]:
    """The ranking without what a clock says."""
    plan = read_plan(folder)
    assert plan is not None
    rows = ranked(folder, plan)
    return [{**row, "seeds": [{**seed, "seconds": 0} for seed in row["seeds"]]} for row in rows]


@pytest.mark.usefixtures("tiny")
def test_a_comparison_on_a_cluster_is_that_of_one_process(tmp_path: Path) -> None:
    task, budget, told = TASKS.build("parity"), Budget(600.0, 1, 2), []
    run_comparison(task, tmp_path / "local", budget=budget, **WANTED)
    run_comparison(task, tmp_path / "cluster", budget=budget, on=Inline(), progress=told.append, **WANTED)
    assert found(tmp_path / "cluster") == found(tmp_path / "local")
    ends = [(event.job, event.seed) for event in told if event.phase == "finished"]
    assert sorted(ends) == [(name, seed) for name in ("nope", "sequential+rope") for seed in (0, 1)]
    assert not (tmp_path / "cluster" / "runs" / LEASES).exists()
    assert not (tmp_path / "cluster" / "times").exists()


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("then", ["cluster", "local"])
def test_a_comparison_whose_task_died_is_gone_on_with(tmp_path: Path, monkeypatch, then: str) -> None:
    task, budget, steps = TASKS.build("parity"), Budget(600.0, 1, 1), []
    step = Trainer.step

    def dies(self: Trainer, number: int):
        if self.folder is not None:
            steps.append(number)
            if len(steps) == 9:
                raise KeyboardInterrupt
        return step(self, number)

    monkeypatch.setattr(Trainer, "step", dies)
    with pytest.raises(KeyboardInterrupt):
        run_comparison(task, tmp_path / "died", budget=budget, on=Inline(), **WANTED)
    assert (tmp_path / "died" / "runs" / LEASES).exists()
    on = Inline() if then == "cluster" else None
    run_comparison(task, tmp_path / "died", budget=budget, on=on, **WANTED)
    assert not (tmp_path / "died" / "runs" / LEASES).exists()
    monkeypatch.setattr(Trainer, "step", step)
    run_comparison(task, tmp_path / "local", budget=budget, **WANTED)
    assert found(tmp_path / "died") == found(tmp_path / "local")


@pytest.mark.usefixtures("tiny")
def test_a_budget_ends_a_comparison_on_a_cluster(tmp_path: Path) -> None:
    task, told = TASKS.build("parity"), []

    def observe(event: Event) -> None:
        told.append(event)

    plan = run_comparison(
        task, tmp_path, budget=Budget(1e-9, 1, 1), on=Inline(), progress=observe, **WANTED
    )  # fmt: skip
    assert plan.seeds == 1
    assert told == []
    run_comparison(task, tmp_path, budget=Budget(600.0, 1, 1), on=Inline(), **WANTED)
    assert [len(row["seeds"]) for row in found(tmp_path)] == [1, 1]
