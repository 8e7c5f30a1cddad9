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
from lengthwise.experiments.comparison.plan import FEWEST_STEPS, MAX_LENGTH, Plan, default_tests, read_plan, steps_for
from lengthwise.experiments.comparison.stages import results_of, time_steps, train_others, tune, tuning_file
from lengthwise.experiments.comparison.systems import chosen_systems
from lengthwise.experiments.events import Event
from lengthwise.experiments.recipe import Job
from lengthwise.experiments.workers import Diverged, Tell, run_jobs
from lengthwise.tasks import TASKS, Task

Stage = Callable[[Path, Job, Tell], None]


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
class _Clock:
    """Passes events on until the time is up."""

    ends: float
    observe: Tell

    def __call__(self, event: Event) -> None:
        if time.monotonic() > self.ends:
            raise OutOfTimeError
        self.observe(event)


def run_comparison(
    task: Task,
    folder: Path,
    *,
    systems: Sequence[str] = (),
    budget: Budget = DEFAULT_BUDGET,
    max_length: int = MAX_LENGTH,
    observe: Tell = lambda event: None,
) -> Plan:
    """Train all systems on ``task`` and measure them, in ``folder``; returns the plan.

    What the budget cuts off is finished by the next call with the same arguments, which gets a budget of its own.
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
    )
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        clock = _Clock(started + budget.seconds, observe)
        try:
            plan = _planned(wanted, folder, budget, clock)
            for stage, is_done in (
                (tune, lambda system: bool(results_of(folder, plan, system))),
                (train_others, lambda system: len(results_of(folder, plan, system)) >= plan.seeds),
            ):
                pending = [system.name for system in plan.systems if not is_done(system)]
                _run(stage, folder, plan, pending, budget.jobs, clock)
        except OutOfTimeError:
            plan = read_plan(folder) or wanted
    return plan


def _planned(wanted: Plan, folder: Path, budget: Budget, clock: _Clock) -> Plan:
    """The plan in the folder, or a new one whose number of steps fits the budget on this machine."""
    found = read_plan(folder)
    if found is not None and (folder / "tuning").exists():
        if not wanted.asks_the_same(found):
            raise LengthwiseError(
                f"{folder} holds a comparison of other systems, lengths or seeds; choose another --out, or delete it"
            )
        return found
    wanted.write(folder)
    seconds: dict[str, tuple[float, ...]] = {}

    def note(event: Event) -> None:
        clock(event)
        seconds[event.job] = (*seconds.get(event.job, ()), event.number)

    _run(time_steps, folder, wanted, [system.name for system in wanted.systems], budget.jobs, note)
    plan = dataclasses.replace(wanted, steps=steps_for(budget.seconds, budget.jobs, seconds, budget.seeds))
    plan.write(folder)
    tuning_file(folder, plan.systems[0]).parent.mkdir(exist_ok=True)
    return plan


def _run(stage: Stage, folder: Path, plan: Plan, names: Sequence[str], jobs: int, tell: Tell) -> None:
    """One stage for these systems, several at a time in processes of their own."""
    todo = [Job(name, plan.experiment(plan.system(name), plan.grid[0]), tuple(range(plan.seeds))) for name in names]
    if jobs == 1:
        for job in todo:
            stage(folder, job, tell)
        return
    with closing(run_jobs(partial(stage, folder), todo, jobs)) as messages:
        # To close it ends the processes that are still at work.
        for message in messages:
            if not isinstance(message, Diverged):
                tell(message)
