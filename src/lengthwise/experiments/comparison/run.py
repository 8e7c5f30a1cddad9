"""Running a comparison within its budget: what is finished is reused, and what the budget cuts off can be resumed."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lengthwise.core.errors import LengthwiseError, OutOfTimeError, require
from lengthwise.core.files import locked
from lengthwise.core.user_code import code_of
from lengthwise.experiments.cluster.reclaim import reclaim
from lengthwise.experiments.comparison.plan import FEWEST_STEPS, MAX_LENGTH, Plan, default_tests, read_plan, steps_for
from lengthwise.experiments.comparison.stages import RUNS, STAGES, forget_times, read_times, results_of, tuning_file
from lengthwise.experiments.comparison.systems import chosen_systems
from lengthwise.experiments.events import Event
from lengthwise.experiments.recipe import Job
from lengthwise.experiments.workers import Diverged, Tell, run_jobs
from lengthwise.positions.system import System
from lengthwise.tasks import TASKS, Task


@dataclass(frozen=True)
class Budget:
    """Seconds of wall-clock time, the processes that share them, and the seeds of each system."""

    seconds: float = 600.0
    jobs: int = 1
    seeds: int = 3

    def __post_init__(self) -> None:
        require(self.seconds > 0, f"the budget must be above 0 seconds, got {self.seconds:g}; give e.g. --budget 10m")
        require(self.jobs >= 1, f"--jobs must be at least 1, got {self.jobs}")
        require(self.seeds >= 1, f"--seeds must be at least 1, got {self.seeds}")


DEFAULT_BUDGET = Budget()


@dataclass(frozen=True)
class Clock:
    """Passes events on until the time is up; then it raises `OutOfTimeError`, by which a comparison stops."""

    ends: float
    observe: Tell

    def __call__(self, event: Event) -> None:
        self.check()
        self.observe(event)

    def check(self) -> None:
        """Raise `OutOfTimeError` if the time is up."""
        if time.monotonic() > self.ends:
            raise OutOfTimeError


StageRunner = Callable[[str, Path, list[Job], Clock], int]
"""Does a stage of `STAGES` for jobs, one of each system, in a folder; returns how many it does at the same time."""


def run_comparison(
    task: Task,
    folder: Path,
    *,
    systems: Sequence[str] = (),
    budget: Budget = DEFAULT_BUDGET,
    max_length: int = MAX_LENGTH,
    observe: Tell = lambda event: None,
    runner: StageRunner | None = None,
) -> Plan:
    """Train all systems on ``task`` and measure them, in ``folder``; returns the plan.

    What the budget cuts off is finished by the next call with the same arguments, which gets a budget of its own.
    A ``runner`` computes somewhere else; without one, what an interrupted runner left comes back first.
    Raises `LengthwiseError` for an unknown system, a budget that is too small, or a folder with another comparison.
    """
    require(not folder.exists() or folder.is_dir(), f"--out {folder} is a file; choose a folder")
    started = time.monotonic()
    wanted = Plan(
        TASKS.describe(task),
        chosen_systems(task, systems),
        max_length,
        default_tests(task, max_length),
        budget.seeds,
        FEWEST_STEPS,
        code=code_of(task),
    )
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        clock = Clock(started + budget.seconds, observe)
        if runner is None:
            reclaim(folder / RUNS)
        way = runner or _processes(budget.jobs)
        try:
            plan = _planned(wanted, folder, budget, clock, way)
            for stage, is_done in (
                ("tune", lambda system: bool(results_of(folder, plan, system))),
                ("train", lambda system: len(results_of(folder, plan, system)) >= plan.seeds),
            ):
                pending = [system for system in plan.systems if not is_done(system)]
                way(stage, folder, _jobs(plan, pending), clock)
        except OutOfTimeError:
            plan = read_plan(folder) or wanted
    return plan


def _planned(wanted: Plan, folder: Path, budget: Budget, clock: Clock, way: StageRunner) -> Plan:
    """The plan in the folder, or a new one whose number of steps fits the budget on this machine."""
    found = read_plan(folder)
    if found is not None and (folder / "tuning").exists():
        if not wanted.asks_the_same(found):
            raise LengthwiseError(
                f"{folder} holds a comparison of another task, or of other systems, lengths or seeds; "
                "choose another --out, or delete it"
            )
        return found
    wanted.write(folder)
    forget_times(folder)
    jobs = way("time", folder, _jobs(wanted, wanted.systems), clock)
    seconds = {system.name: read_times(folder, system) for system in wanted.systems}
    plan = dataclasses.replace(wanted, steps=steps_for(budget.seconds, jobs, seconds))
    plan.write(folder)
    forget_times(folder)
    tuning_file(folder, plan.systems[0]).parent.mkdir(exist_ok=True)
    return plan


def _jobs(plan: Plan, systems: Sequence[System]) -> list[Job]:
    """One job of each system, with all seeds of the plan."""
    first, seeds = plan.grid[0], tuple(range(plan.seeds))
    return [Job(system.name, plan.experiment(system, first), seeds) for system in systems]


def _processes(count: int) -> StageRunner:
    """Does so many jobs at the same time, each in a process of its own; one alone in this process."""

    def run(stage: str, folder: Path, jobs: list[Job], clock: Clock) -> int:
        if count == 1:
            for job in jobs:
                STAGES[stage](folder, job, clock)
            return 1
        with closing(run_jobs(partial(STAGES[stage], folder), jobs, count)) as messages:
            # To close it ends the processes that are still at work.
            for message in messages:
                if not isinstance(message, Diverged):
                    clock(message)
        return count

    return run
