"""All jobs and seeds of a recipe: finished seeds are reused, an interrupted one goes on, the rest is run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError, TrainingDivergedError, require
from lengthwise.core.result_file import RunResult, StudyResult
from lengthwise.experiments.cluster.reclaim import reclaim
from lengthwise.experiments.events import Event, Report
from lengthwise.experiments.provenance import commit
from lengthwise.experiments.recipe import Job, JobWork, Recipe, Study
from lengthwise.experiments.run import run_seed
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import divergence, finished, finished_study, note_divergence, run_directory
from lengthwise.experiments.stack import train_seeds
from lengthwise.experiments.study import run_study
from lengthwise.experiments.workers import Diverged, Tell, pieces, run_jobs

AnyResult = RunResult | StudyResult
Runner = Callable[[str, Path, list[Job], Tell], list[str]]
"""Runs jobs of a recipe (by name, with its ``out``) somewhere; returns what there is to say of seeds that diverged."""
Known = Mapping[tuple[str, int], AnyResult | None]
"""By name of the job and seed: the finished result, if there is one."""
ResultRows = tuple[tuple[AnyResult, ...], list[str]]
"""Results of one configuration's seeds, and what there is to say of those that diverged."""


@dataclass(frozen=True)
class Sweep:
    """The results of a recipe, one list per job, in the order of its seeds."""

    recipe: Recipe
    results: tuple[tuple[AnyResult, ...], ...]

    def studies(self) -> list[tuple[Study, StudyResult]]:
        """The results that are no training runs'."""
        return [
            (job.work, result)
            for job, results in zip(self.recipe.jobs, self.results, strict=True)
            for result in results
            if isinstance(job.work, Study) and isinstance(result, StudyResult)
        ]

    def to_json(self) -> dict[str, Any]:
        """The JSON form that ``lengthwise run --json`` prints for recipes that train."""
        runs = [[result for result in results if isinstance(result, RunResult)] for results in self.results]
        systems = [_system_json(job, results) for job, results in zip(self.recipe.jobs, runs, strict=True)]
        trains = [system["train"] for system in systems]
        longest = max(trains, key=lambda train: train["max_length"])
        if all(train == trains[0] for train in trains):
            # The usual case: one training distribution, stated once.
            systems = [{key: value for key, value in system.items() if key != "train"} for system in systems]
        return {"recipe": self.recipe.name, "commit": commit(), "train": longest, "systems": systems}


def sweep(
    recipe: Recipe, out: Path, *, jobs: int = 1, runner: Runner | None = None, observe: Tell = lambda event: None
) -> Sweep:
    """Run what is not finished, job by job; each result is written as soon as it is there.

    With ``jobs`` above 1, as many processes work on different seeds at the same time; the results are the same. A
    ``runner`` computes somewhere else; without one, what an interrupted runner left in leases comes back first.
    Of a job with fallbacks the results are those of the configuration in which most seeds fitted.
    Raises `LengthwiseError` for a damaged file in ``out`` or the run of another configuration, before any training, and
    `TrainingDivergedError` when a seed diverged and no other configuration of its job spoke for it; all others are
    finished then.
    """
    if out.exists() and not out.is_dir():
        raise LengthwiseError(f"--out {out} is a file; choose a folder")
    require(jobs >= 1, f"--jobs must be at least 1, got {jobs}")
    ran: set[tuple[str, int]] = set()
    if runner is None:
        reclaim(out / recipe.name)
    known = _known(recipe, out)
    if runner is not None or jobs > 1:
        ran = _side_by_side(recipe, known, out, runner or _processes(jobs), observe)
        known = _known(recipe, out)

    def untold(event: Event) -> None:
        if (event.job, event.seed) not in ran:
            observe(event)

    results, failures = [], []
    for job in recipe.jobs:
        rows, failed = _search(recipe.name, job, known, out, untold)
        results.append(rows)
        failures += failed
    _raise_diverged(failures)
    return Sweep(recipe, tuple(results))


def _raise_diverged(failures: Sequence[str]) -> None:
    if failures:
        more = f" (and {len(failures) - 1} more; all other seeds are finished)" if len(failures) > 1 else ""
        raise TrainingDivergedError(min(failures) + more)


def _known(recipe: Recipe, out: Path) -> Known:
    return {(job.name, seed): _finished(recipe.name, job.work, seed, out) for job in recipe.jobs for seed in job.seeds}


def _finished(recipe: str, work: JobWork, seed: int, out: Path) -> AnyResult | None:
    folder = run_directory(out, recipe, work, seed)
    return finished_study(folder, work, seed) if isinstance(work, Study) else finished(folder, work, seed)


def _side_by_side(recipe: Recipe, known: Known, out: Path, runner: Runner, tell: Tell) -> set[tuple[str, int]]:
    """Run the pending seeds at the same time; returns the seeds whose end was told.

    Raises `TrainingDivergedError` at the end when seeds diverged.
    """
    pending = pieces(recipe, lambda job, seed: known[job.name, seed] is not None)
    ended: set[tuple[str, int]] = set()

    def told(event: Event) -> None:
        if event.ended:
            ended.add((event.job, event.seed))
        tell(event)

    _raise_diverged(runner(recipe.name, out, pending, told))
    return ended


def _processes(count: int) -> Runner:
    """Runs jobs in so many processes of this machine."""

    def run(recipe: str, out: Path, jobs: list[Job], tell: Tell) -> list[str]:
        failures = []
        for message in run_jobs(partial(run_job, recipe, out), jobs, count):
            if isinstance(message, Diverged):
                failures.append(message.what)
            else:
                tell(message)
        return failures

    return run


def run_job(recipe: str, out: Path, job: Job, tell: Tell) -> None:
    """An ordinary sweep of one job: the work of one process of several."""
    sweep(Recipe(recipe, "", (job,)), out, observe=tell)


def _search(recipe: str, job: Job, known: Known, out: Path, tell: Tell) -> ResultRows:
    """The results of the first configuration of a job in which enough seeds fit, or else of the best one."""
    best = _configuration(recipe, job, known, out, tell)
    for experiment in job.fallbacks:
        if _fitted(best)[0] >= job.needed:
            break
        next_one = dataclasses.replace(job, work=experiment)
        found = {(job.name, seed): _finished(recipe, experiment, seed, out) for seed in job.seeds}
        best = max(best, _configuration(recipe, next_one, found, out, tell), key=_fitted)
    return best


def _fitted(rows: ResultRows) -> tuple[int, int]:
    """Seeds that fitted, then seeds that have results at all."""
    return sum(isinstance(result, RunResult) and result.fitted for result in rows[0]), len(rows[0])


def _configuration(recipe: str, job: Job, known: Known, out: Path, tell: Tell) -> ResultRows:
    """All seeds of one configuration; one that diverges ends without a result, and the others go on."""
    rows, failures = [], []
    pending = [seed for seed in job.seeds if known[job.name, seed] is None]
    folders = {seed: run_directory(out, recipe, job.work, seed) for seed in pending}
    # The same training would diverge again.
    diverged = {seed: failure for seed in pending if (failure := divergence(folders[seed])) is not None}
    pending = [seed for seed in pending if seed not in diverged]
    if isinstance(job.work, RunConfig) and job.work.training.stacked and len(pending) > 1:
        report = _reporter(job, pending[0], tell, tuple(pending))
        # `_run` then finds them trained.
        diverged |= train_seeds(job.work, pending, out, recipe=recipe, report=report)
    for seed in job.seeds:
        result, phase = known[job.name, seed], "reused"
        try:
            if seed in diverged:
                raise TrainingDivergedError(diverged[seed])
            if result is None:
                result, phase = _run(recipe, job, seed, folders[seed], tell), "finished"
        except TrainingDivergedError as error:
            note_divergence(folders[seed], str(error))
            failures.append(f"{job.name}, seed {seed}: {error}")
            continue
        rows.append(result)
        run = result if isinstance(result, RunResult) else None
        number = 0.0 if run is None else run.in_distribution.rate()
        tell(Event(job.name, seed, phase, number=number, fitted=run and run.fitted, seconds=result.seconds))
    return tuple(rows), failures


def _run(recipe: str, job: Job, seed: int, folder: Path, tell: Tell) -> AnyResult:
    report = _reporter(job, seed, tell)
    if isinstance(job.work, Study):
        return run_study(job.work, seed, folder, report)
    return run_seed(job.work, seed, folder, recipe=recipe, system=job.name, report=report)


def _reporter(job: Job, seed: int, tell: Tell, together: tuple[int, ...] = ()) -> Report:
    def report(what: str, done: int, total: int, number: float = 0.0, /) -> None:
        tell(Event(job.name, seed, what, done, total, number, together=together))

    return report


def _system_json(job: Job, results: Sequence[RunResult]) -> dict[str, Any]:
    return {
        "name": job.name,
        "claim": job.claim,
        "train": training_distribution(RunConfig.from_json(results[0].experiment)),
        "seeds": [result.seed for result in results],
        "fitted": [result.fitted for result in results],
        "in_distribution": [result.in_distribution.rate() for result in results],
        "seconds": [result.seconds for result in results],
        "commits": sorted({result.commit for result in results}),
        "scores": [_score_json(result.seed, score) for result in results for score in result.to_json()["scores"]],
    }


def _score_json(seed: int, score: dict[str, Any]) -> dict[str, Any]:
    # Where each string goes wrong is long and stays in the result files.
    return {"seed": seed, **{key: value for key, value in score.items() if key != "first_error_at"}}


def training_distribution(experiment: RunConfig) -> dict[str, Any]:
    """Which lengths training draws, and how."""
    training = experiment.training
    lengths = experiment.task.lengths(training.min_length, training.max_length)
    return {
        "min_length": lengths[0] if lengths else training.min_length,
        "max_length": lengths[-1] if lengths else training.max_length,
        "lengths": lengths,
        "distribution": "uniform",
        "steps": training.steps,
        "batch_size": training.batch_size,
    }
