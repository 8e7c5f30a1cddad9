"""The plan of a comparison: one task, one grid of settings, and one number of steps for all systems."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lengthwise.core.config import config, fields_of, from_fields
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.result_file import read_sealed, write_sealed
from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.experiments.defaults import default_experiment
from lengthwise.experiments.run_config import RunConfig
from lengthwise.positions.system import System
from lengthwise.tasks import TASKS, Task
from lengthwise.training.config import TrainingConfig

MULTIPLES = (1, 1.5, 2, 3, 4, 6, 8)
"""Test lengths, as multiples of the longest training length."""
REACH = 0.95
"""The share of right strings up to which a system is said to go on."""
FEWEST_STEPS, MOST_STEPS = 200, 20_000
LONGEST = 10_000
"""The longest training length that a comparison takes."""
MAX_LENGTH = 6
"""The longest training length where none is given: short, so that a small budget suffices for a fit."""
SHARE = 0.85
"""The share of a budget that is planned for training; the rest is for tests, starts of processes and a slow machine."""
FILE = "plan.json"


@config
class ModelSetting:
    """One point of the grid on which every system is tuned."""

    layers: int
    lr: float
    weight_decay: float

    @property
    def text(self) -> str:
        """The setting in words."""
        layers = f"{self.layers} layer{'s' if self.layers > 1 else ''}"
        return f"{layers}, lr {self.lr:g}"


GRID = (ModelSetting(1, 3e-3, 0.1), ModelSetting(2, 1e-3, 0.1))
"""Tried in this order until the first seed fits in distribution; the better of all where none fits."""


@config
class Plan:
    """Everything that is the same for all systems, and the systems."""

    task: dict[str, Any]
    systems: tuple[System, ...]
    max_length: int
    tests: tuple[int, ...]
    seeds: int
    steps: int
    grid: tuple[ModelSetting, ...] = GRID
    width: int = 64
    heads: int = 4
    batch_size: int = 64
    samples: int = 100
    fit_samples: int = 200
    code: str | None = None
    """A digest of the file of a task of the user's own."""

    @property
    def built_task(self) -> Task:
        """The task itself."""
        return TASKS.build(self.task)

    @property
    def trainings(self) -> int:
        """The most trainings that the plan can need: the grid with the first seed, and the other seeds."""
        return len(self.systems) * (len(self.grid) + self.seeds - 1)

    def system(self, name: str) -> System:
        """The system of this name."""
        return next(system for system in self.systems if system.name == name)

    def experiment(self, system: System, setting: ModelSetting) -> RunConfig:
        """What is trained: seeds share one schedule of lengths, and every system sees the same number of strings."""
        made = default_experiment(
            self.built_task, system.scheme, system.encoding, max_length=self.max_length, test_lengths=self.tests
        )
        model = dataclasses.replace(made.model, layers=setting.layers, heads=self.heads, width=self.width)
        training = TrainingConfig(
            max_length=self.max_length,
            steps=self.steps,
            batch_size=self.batch_size,
            lr=setting.lr,
            weight_decay=setting.weight_decay,
            warmup=min(100, self.steps // 5),
            final_lr=0.0,
            probe_every=max(250, self.steps // 4),
            stacked=True,
        )
        evaluation = EvaluationConfig(
            lengths=self.tests, samples=self.samples, fit_samples=self.fit_samples, probe_samples=16
        )
        return dataclasses.replace(made, model=model, training=training, evaluation=evaluation)

    def write(self, folder: Path) -> None:
        """Write ``plan.json``."""
        write_sealed(folder / FILE, fields_of(self))

    def asks_the_same(self, other: Plan) -> bool:
        """Whether the two differ in nothing but the number of steps, which follows from the budget and the machine."""
        return dataclasses.replace(self, steps=other.steps) == other


def read_plan(folder: Path) -> Plan | None:
    """The plan in a folder, or None; raises `LengthwiseError` if it is damaged."""
    path = folder / FILE
    if not path.exists():
        return None
    values = read_sealed(path, "plan of a comparison")
    if not isinstance(values, dict):
        raise LengthwiseError(f"plan of a comparison {path} is damaged; delete the folder and start again")
    return from_fields(Plan, values, where=f"plan {path}")


def default_tests(task: Task, max_length: int) -> tuple[int, ...]:
    """Multiples of the longest training length, each moved down to the nearest length with instances."""
    require(max_length <= LONGEST, f"--max-length must be at most {LONGEST:,}, got {max_length:,}")
    trained = task.lengths(1, max_length)
    if not trained:
        raise LengthwiseError(f"task {task.name!r} has no instances of lengths 1 to {max_length}; raise --max-length")
    found = [task.lengths(trained[-1], int(multiple * max_length))[-1] for multiple in MULTIPLES]
    return tuple(dict.fromkeys(found))


class StepTimes(NamedTuple):
    """Seconds of one step of the first seed, and of the stack of all other seeds."""

    first: float
    others: float


def steps_for(budget: float, jobs: int, seconds: Mapping[str, Sequence[StepTimes]]) -> int:
    """The number of steps that fits a budget of ``budget`` seconds.

    ``seconds`` has one entry per system and point of the grid: the first seed is trained at each, the others at the
    slowest at most. Raises `LengthwiseError` if the budget is too small for a training that could mean something.
    """
    for_one_step = sum(sum(t.first for t in times) + max(t.others for t in times) for times in seconds.values())
    steps = int(SHARE * budget * jobs / for_one_step)
    needed = FEWEST_STEPS * for_one_step / (SHARE * jobs)
    require(
        steps >= FEWEST_STEPS,
        f"--budget {budget:.0f}s gives each training {steps} steps, and at least {FEWEST_STEPS} are needed; "
        f"give about {needed / 60:.0f}m, fewer --systems, fewer --seeds or a smaller --max-length",
    )
    return min(MOST_STEPS, steps // 50 * 50)
