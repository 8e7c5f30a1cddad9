"""Estimates what a sweep costs before it starts: a few steps and test strings of every configuration are measured."""

from __future__ import annotations

import heapq
import re
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import stream
from lengthwise.core.table import Table, Tabular
from lengthwise.experiments.engine import side_by_side
from lengthwise.experiments.recipe import Recipe
from lengthwise.experiments.run_config import RunConfig

STEPS, WARM = 6, 2
"""Steps that are timed, after others that are not."""
STRINGS = 8
"""Test strings that are timed at the longest length."""
MOST_SLOTS = 1_000_000


@dataclass(frozen=True)
class Machines:
    """So many machines of so many cores."""

    count: int
    cores: int

    @classmethod
    def of(cls, text: str) -> Machines:
        """``4x16`` is four machines of 16 cores; raises `LengthwiseError` for anything else."""
        found = re.fullmatch(r"([1-9]\d{0,5})x([1-9]\d{0,3})", text)
        if found is None:
            raise LengthwiseError(f"machines must be COUNTxCORES, e.g. 4x16, got {text!r}")
        return cls(int(found[1]), int(found[2]))

    def slots(self, cpus_per_job: int) -> int:
        """Jobs that run at the same time; raises `LengthwiseError` if none fits."""
        require(1 <= cpus_per_job <= self.cores, f"cpus_per_job must be in 1..{self.cores}, got {cpus_per_job}")
        return min(MOST_SLOTS, self.count * (self.cores // cpus_per_job))


@dataclass(frozen=True)
class JobCost:
    """One configuration: seconds of one training step and of all tests of one seed, and of one task in total."""

    name: str
    tasks: int
    seeds: int
    step_seconds: float
    test_seconds: float
    task_seconds: float


@dataclass(frozen=True, repr=False)
class Cost(Tabular):
    """What a recipe costs on some machines. ``memory`` is the most bytes that this process had while measuring."""

    machines: Machines
    jobs: tuple[JobCost, ...]
    core_hours: float
    hours: float
    memory: int

    def table(self) -> Table:
        """One row per system: jobs, seeds, milliseconds a step, seconds of tests a seed, seconds a job."""
        rows = tuple(
            (job.name, job.tasks, job.seeds, 1000 * job.step_seconds, job.test_seconds, job.task_seconds)
            for job in self.jobs
        )
        columns = ("system", "jobs", "seeds", "ms a step", "tests, s a seed", "s a job")
        return Table(columns, rows, notes=(self.in_all(),))

    def in_all(self) -> str:
        """The whole in one line."""
        return (
            f"{sum(job.tasks for job in self.jobs)} jobs, {self.core_hours:.2g} core-hours, {self.hours:.2g} hours "
            f"on {self.machines.count}x{self.machines.cores} machines; about {self.memory / 2**20:,.0f} MiB each"
        )

    def to_json(self) -> dict[str, Any]:
        """The plan as plain JSON values."""
        jobs, tasks = [vars(job) for job in self.jobs], sum(job.tasks for job in self.jobs)
        hours = {"core_hours": self.core_hours, "hours": self.hours}
        return {"jobs": jobs, "tasks": tasks, **hours, "memory_bytes": self.memory}


def plan(
    recipe: Recipe, machines: Machines, cpus_per_job: int = 1, note: Callable[[str], None] = lambda line: None
) -> Cost:
    """Measure every configuration that ``recipe`` trains and add up; raises `LengthwiseError` for a study.

    First candidates only: the others come on top. Tests are taken to be as long as the longest, which is too much.
    """
    require(recipe.trains, f"recipe {recipe.name!r} is a study; only training runs can be planned")
    slots = machines.slots(cpus_per_job)
    costs, tasks = [], []
    waiting = side_by_side(recipe, lambda job, seed: False)
    for job in recipe.jobs:
        note(f"measuring {job.name}")
        mine = [piece for piece in waiting if piece.name == job.name]
        seeds, stacked = len(mine[0].seeds), job.experiment.training.stacked
        step, test = _measured(job.experiment, seeds if stacked else 1)
        # A stack's step is one step of all its seeds.
        trainings = 1 if stacked else seeds
        seconds = step * job.experiment.training.steps * trainings + test * seeds
        costs.append(JobCost(job.name, len(mine), len(job.seeds), step, test, seconds))
        tasks += [seconds] * len(mine)
    core_hours = sum(tasks) * cpus_per_job / 3600
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Cost(machines, tuple(costs), core_hours, _makespan(tasks, slots) / 3600, memory)


def _measured(experiment: RunConfig, seeds: int) -> tuple[float, float]:
    """Seconds of one training step, and of all tests of one seed."""
    from lengthwise.evaluation import accuracy
    from lengthwise.training.data import TaskSetup
    from lengthwise.training.trainer import Trainer

    setup = TaskSetup(experiment.task, experiment.scheme, experiment.encoding, experiment.model)
    trainer = Trainer(setup, experiment.training, list(range(seeds)))
    for step in range(WARM):
        trainer.step(step)
    times = []
    for step in range(WARM, WARM + STEPS):
        started = time.perf_counter()
        trainer.step(step)
        times.append(time.perf_counter() - started)
    step_seconds, evaluation = sorted(times)[STEPS // 2], experiment.evaluation
    cells = list(accuracy.evaluation_layouts(experiment.task, evaluation.lengths))
    if not cells:
        return step_seconds, 0.0
    model = accuracy.EvaluatedModel(setup.build(0).eval(), experiment.task, experiment.scheme)
    length, layout = cells[-1]
    count = min(STRINGS, evaluation.samples)
    started = time.perf_counter()
    accuracy.score_layout(model, length, layout, count, stream(0, "plan"), answers=evaluation.answers)
    taken = time.perf_counter() - started
    return step_seconds, taken * evaluation.samples / count * len(cells)


def _makespan(tasks: Sequence[float], slots: int) -> float:
    """Seconds until the last task ends, if the longest begin first and each takes the first free slot."""
    free = [0.0] * min(slots, max(1, len(tasks)))
    for seconds in sorted(tasks, reverse=True):
        heapq.heapreplace(free, free[0] + seconds)
    return max(free)
