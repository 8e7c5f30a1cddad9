"""The work of a comparison: timing of one step, tuning with the first seed, then the other seeds of what was chosen."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lengthwise.core.errors import TrainingDivergedError, require
from lengthwise.core.files import read_json, write_json
from lengthwise.core.result_file import RunResult, read_sealed, write_sealed
from lengthwise.experiments.comparison.plan import ModelSetting, Plan, StepTimes, read_plan
from lengthwise.experiments.events import Event, Report
from lengthwise.experiments.recipe import Job, Recipe
from lengthwise.experiments.run import in_distribution_score, run_seed, train
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import claim_run_dir, finished, run_directory
from lengthwise.experiments.sweep import sweep
from lengthwise.experiments.workers import Tell
from lengthwise.positions.system import System

RUNS = "runs"
"""The folder of the run directories inside that of the comparison."""
TIMED_STEPS, SKIPPED_STEPS = 12, 3
FIRST_SEED = 0


def plan_in(folder: Path) -> Plan:
    """The plan that a comparison has written before its stages start."""
    plan = read_plan(folder)
    assert plan is not None, f"no plan in {folder}"
    return plan


def time_steps(folder: Path, job: Job, tell: Tell) -> None:
    """Train each point of the grid for a few steps; writes the `StepTimes` of each."""
    from lengthwise.training.data import TaskSetup
    from lengthwise.training.trainer import Trainer

    plan, seconds = plan_in(folder), []
    for index, setting in enumerate(plan.grid):
        experiment = plan.experiment(plan.system(job.name), setting)
        setup = TaskSetup(experiment.task, experiment.scheme, experiment.encoding, experiment.model)
        others = range(FIRST_SEED + 1, plan.seeds)
        found = [
            _seconds_of(Trainer(setup, experiment.training, seeds).step) if seeds else 0.0
            for seeds in ([FIRST_SEED], others)
        ]
        seconds.append(found)
        tell(Event(job.name, FIRST_SEED, "time", index, len(plan.grid), sum(found)))
    write_json(times_file(folder, plan.system(job.name)), seconds)


def _seconds_of(take: Callable[[int], object]) -> float:
    """The median seconds of some steps; the first ones are slower."""
    taken = []
    for step in range(TIMED_STEPS):
        started = time.perf_counter()
        take(step)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken[SKIPPED_STEPS:])


def times_file(folder: Path, system: System) -> Path:
    """Where `time_steps` writes, until there is a plan."""
    return folder / "times" / f"{system.name}.json"


def read_times(folder: Path, system: System) -> list[StepTimes]:
    """Seconds of one step, per point of the grid."""
    return [StepTimes(*found) for found in read_json(times_file(folder, system), what="times of steps")]


def forget_times(folder: Path) -> None:
    """Delete all that `time_steps` wrote."""
    shutil.rmtree(folder / "times", ignore_errors=True)


def tuning_file(folder: Path, system: System) -> Path:
    """Where the outcome of the tuning of one system is."""
    return folder / "tuning" / f"{system.name}.json"


def tune(folder: Path, job: Job, tell: Tell) -> None:
    """Train the first seed on the grid, point by point until one fits in distribution, and measure the chosen one.

    Writes the accuracy in distribution of every point that was tried and the index of the chosen one, which is None
    where every training diverged. Long lengths play no part in the choice.
    """
    plan = plan_in(folder)
    system = plan.system(job.name)
    path = tuning_file(folder, system)
    if not path.exists():
        found: list[float | None] = []
        for setting in plan.grid:
            experiment = plan.experiment(system, setting)
            found.append(_in_distribution(folder, experiment, job, tell))
            if (found[-1] or 0.0) >= experiment.evaluation.fit_threshold:
                break
        rates = [-1.0 if rate is None else rate for rate in found]
        chosen = rates.index(max(rates)) if max(rates) >= 0 else None
        write_sealed(path, {"system": system.name, "in_distribution": found, "chosen": chosen})
    setting = chosen_setting(folder, plan, system)
    if setting is not None:
        _measure(folder, plan.experiment(system, setting), job, tell)


def read_tuning(folder: Path, plan: Plan, system: System) -> dict[str, Any] | None:
    """What `tune` wrote, or None; raises `LengthwiseError` if it is damaged."""
    path = tuning_file(folder, system)
    if not path.exists():
        return None
    values = read_sealed(path, "outcome of a tuning")
    whole = isinstance(values, dict) and values.keys() >= {"in_distribution", "chosen"}
    whole = whole and (values["chosen"] is None or values["chosen"] in range(len(plan.grid)))
    require(whole, f"outcome of a tuning {path} is damaged; delete it and run again")
    return values


def chosen_setting(folder: Path, plan: Plan, system: System) -> ModelSetting | None:
    """The setting that tuning chose; None where it has not ended or every training diverged."""
    tuned = read_tuning(folder, plan, system)
    return None if tuned is None or tuned["chosen"] is None else plan.grid[tuned["chosen"]]


def train_others(folder: Path, job: Job, tell: Tell) -> None:
    """Train and measure the other seeds of the chosen setting; a seed that diverges is left without a result."""
    plan = plan_in(folder)
    system = plan.system(job.name)
    setting = chosen_setting(folder, plan, system)
    if setting is None or plan.seeds == 1:
        return
    others = tuple(range(FIRST_SEED + 1, plan.seeds))
    recipe = Recipe(RUNS, "", (Job(system.name, plan.experiment(system, setting), others),))
    try:
        sweep(recipe, folder, observe=tell)
    except TrainingDivergedError:
        return


STAGES: dict[str, Callable[[Path, Job, Tell], None]] = {"time": time_steps, "tune": tune, "train": train_others}
"""What a comparison does for each system, in order; each stage ends for all systems before the next begins."""


def results_of(folder: Path, plan: Plan, system: System) -> list[RunResult]:
    """The finished seeds of the chosen setting of a system."""
    setting = chosen_setting(folder, plan, system)
    if setting is None:
        return []
    experiment = plan.experiment(system, setting)
    found = [
        finished(run_directory(folder, RUNS, experiment, seed), experiment, seed)
        for seed in range(FIRST_SEED, plan.seeds)
    ]
    return [result for result in found if result is not None]


def _in_distribution(folder: Path, experiment: RunConfig, job: Job, tell: Tell) -> float | None:
    """Train the first seed in its run directory and measure it on training lengths; None if it diverges."""
    run_folder = run_directory(folder, RUNS, experiment, FIRST_SEED)
    claim_run_dir(run_folder, experiment, FIRST_SEED)
    (state,) = train(experiment, [FIRST_SEED], run_folder, _report(job, tell))
    if state.failure is not None:
        return None
    score = in_distribution_score(experiment, state.trained(), experiment.evaluation.fit_samples, FIRST_SEED, "tuning")
    return score.rate()


def _measure(folder: Path, experiment: RunConfig, job: Job, tell: Tell) -> None:
    """Test the trained first seed; its checkpoint is at its end already."""
    run_folder = run_directory(folder, RUNS, experiment, FIRST_SEED)
    result = run_seed(
        experiment, FIRST_SEED, run_folder, recipe=RUNS, system=job.name, report=_report(job, tell)
    )  # fmt: skip
    tell(
        Event(
            job.name, FIRST_SEED, "finished", number=result.in_distribution.rate(), fitted=result.fitted,
            seconds=result.seconds,
        )
    )  # fmt: skip


def _report(job: Job, tell: Tell) -> Report:
    def report(what: str, done: int, total: int, number: float = 0.0, /) -> None:
        tell(Event(job.name, FIRST_SEED, what, done, total, number))

    return report
