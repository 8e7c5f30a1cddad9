"""The engine: every job of a recipe tries its candidates, smallest first, until enough of its seeds fit.

The resume rule: a finished seed is reused, an interrupted one goes on from its last checkpoint in the same bits, and
one that diverged is not tried again. `compare` and `blind` use the same candidates and executors, with fits of their
own.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lengthwise.core.config import digest
from lengthwise.core.errors import TrainingDivergedError
from lengthwise.core.files import make_folder
from lengthwise.core.result_file import RunResult, StudyResult
from lengthwise.experiments.cluster import reclaim
from lengthwise.experiments.events import Event, Progress, reporter, unwatched
from lengthwise.experiments.execute import Executor, Unit
from lengthwise.experiments.provenance import commit
from lengthwise.experiments.recipe import Job, Recipe, Study
from lengthwise.experiments.run import HERE, Place, run_seed, run_study, stack_folders, train_seeds
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import (
    DIVERGED,
    LEASES,
    RESULT,
    divergence,
    finished,
    finished_study,
    note_divergence,
    run_directory,
)
from lengthwise.training.threads import threads_of_a_call

AnyResult = RunResult | StudyResult


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
        systems = [_system_json(job, found) for job, found in zip(self.recipe.jobs, self.results, strict=True)]
        trains = [system["train"] for system in systems]
        longest = max(trains, key=lambda train: train["max_length"])
        if all(train == trains[0] for train in trains):
            # The usual case: one training distribution, stated once.
            systems = [{key: value for key, value in system.items() if key != "train"} for system in systems]
        return {"recipe": self.recipe.name, "commit": commit(), "train": longest, "systems": systems}


@threads_of_a_call()
def sweep(
    recipe: Recipe, out: Path, *, on: Executor | None = None, place: Place = HERE, progress: Progress = unwatched
) -> Sweep:
    """Compute what is not finished of a recipe; each result is written as soon as it is there.

    Arguments:
        recipe: the jobs.
        out: run directories are in ``out/NAME``, by the hash of what they hold.
        on: computes jobs side by side, with the same results; without it, one after the other in this process, once
            all that a cluster left under leases has come back.
        place: where torch computes in each process.
        progress: called with every event; once per seed with its end.

    Returns: one list of results per job: those of the candidate in which most seeds fitted.

    Raises:
        LengthwiseError: for a damaged file in ``out`` or the run of another configuration, before any training.
        TrainingDivergedError: when a seed diverged and no other candidate of its job replaced it; all others are
            finished then.
    """
    make_folder(out)
    if on is None:
        reclaim(out / recipe.name)
    # Damaged files are found before anything is trained.
    known = {
        (job.name, seed): _finished(recipe.name, job.works[0], seed, out) for job in recipe.jobs for seed in job.seeds
    }
    told, results, failures = set[tuple[str, int]](), [], []
    if on is not None:

        def tell(event: Event) -> None:
            if event.ended:
                told.add((event.job, event.seed))
            progress(event)

        jobs = side_by_side(recipe, lambda job, seed: known[job.name, seed] is not None)
        with closing(on.run([SweepUnit(recipe.name, out.resolve(), job, place) for job in jobs], tell)) as ended:
            failures = [outcome.what for _, outcome in ended if outcome.status == "diverged"]
        _raise_diverged(failures)

    def new(event: Event) -> None:
        if (event.job, event.seed) not in told:
            progress(event)

    for job in recipe.jobs:
        found, diverged = SweepUnit(recipe.name, out, job, place).rows(out, new)
        results.append(tuple(found))
        failures += diverged
    _raise_diverged(failures)
    return Sweep(recipe, tuple(results))


def _raise_diverged(failures: Sequence[str]) -> None:
    if failures:
        more = f" (and {len(failures) - 1} more; all other seeds are finished)" if len(failures) > 1 else ""
        raise TrainingDivergedError(min(failures) + more)


def _finished(recipe: str, work: RunConfig | Study, seed: int, out: Path) -> AnyResult | None:
    folder = run_directory(out, recipe, work, seed)
    return finished_study(folder, work, seed) if isinstance(work, Study) else finished(folder, work, seed)


def end_of(job: str, seed: int, result: AnyResult, phase: str = "finished") -> Event:
    """The event of the end of a seed."""
    run = result if isinstance(result, RunResult) else None
    number = 0.0 if run is None else run.in_distribution.rate()
    return Event(job, seed, phase, number=number, fitted=run and run.fitted, seconds=result.seconds)


def side_by_side(recipe: Recipe, is_finished: Callable[[Job, int], bool]) -> list[Job]:
    """What can run at the same time: jobs of one seed each, or whole jobs whose seeds depend on one another.

    The long ones come first: the last to end would otherwise run alone for most of its time.
    """
    found = []
    for job in recipe.jobs:
        pending = tuple(seed for seed in job.seeds if not is_finished(job, seed))
        stacked = not isinstance(job.work, Study) and job.experiment.training.stacked
        if len(job.works) > 1 or (stacked and len(pending) > 1):
            found.append(job)
        else:
            found += [dataclasses.replace(job, seeds=(seed,)) for seed in pending]
    return sorted(found, key=lambda job: -_cost(job))


def _cost(job: Job) -> int:
    """How long it takes in proportion: tokens of the first candidate times weights of its blocks; 0 for a study."""
    if isinstance(job.work, Study):
        return 0
    training, model = job.experiment.training, job.experiment.model
    return job.steps * training.batch_size * training.max_length * model.layers * model.width**2


_Rows = tuple[list[AnyResult], list[str]]
"""The seeds of one candidate: results, and what there is to say of those that diverged."""


def _fitted(rows: _Rows) -> int:
    return sum(isinstance(result, RunResult) and result.fitted for result in rows[0])


@dataclass(frozen=True)
class SweepUnit(Unit):
    """A job of a recipe with the seeds that one process trains, as one stack where the job is stacked."""

    recipe: str
    home: Path
    job: Job
    place: Place = HERE

    @property
    def name(self) -> str:
        return self.job.name

    @property
    def leases(self) -> Path:
        return self.home / self.recipe / LEASES / digest(self.job.to_json())

    def compute(self, folder: Path, progress: Progress) -> None:
        _raise_diverged(self.rows(folder, progress)[1])

    def rows(self, out: Path, progress: Progress) -> _Rows:
        """The seeds of the first candidate in which enough fit, or else of the best one."""
        if isinstance(self.job.work, Study):
            return self._rows_of(self.job.work, out, progress)
        tried = self.job.candidates.search(lambda config: self._rows_of(config, out, progress), _fitted)
        return max(tried, key=lambda rows: (_fitted(rows), len(rows[0])))

    def _rows_of(self, work: RunConfig | Study, out: Path, progress: Progress) -> _Rows:
        """All seeds of one candidate; one that diverges ends without a result, and the others go on."""
        job, results, failures = self.job, [], []
        known = {seed: _finished(self.recipe, work, seed, out) for seed in job.seeds}
        folders = {seed: run_directory(out, self.recipe, work, seed) for seed in job.seeds}
        pending = [seed for seed in job.seeds if known[seed] is None]
        # The same training would diverge again.
        diverged = {seed: failure for seed in pending if (failure := divergence(folders[seed])) is not None}
        pending = [seed for seed in pending if seed not in diverged]
        if isinstance(work, RunConfig) and work.training.stacked and len(pending) > 1:
            report = reporter(job.name, pending[0], progress, tuple(pending))
            # `run_seed` then finds them trained.
            diverged |= train_seeds(work, pending, out, recipe=self.recipe, report=report, place=self.place)
        for seed, folder in folders.items():
            result, phase = known[seed], "reused"
            try:
                if seed in diverged:
                    raise TrainingDivergedError(diverged[seed])
                if result is None:
                    report, phase = reporter(job.name, seed, progress), "finished"
                    if isinstance(work, Study):
                        result = run_study(work, seed, folder, report)
                    else:
                        result = run_seed(
                            work, seed, folder, recipe=self.recipe, system=job.name, report=report, place=self.place
                        )
            except TrainingDivergedError as error:
                note_divergence(folder, str(error))
                failures.append(f"{job.name}, seed {seed}: {error}")
                continue
            results.append(result)
            progress(end_of(job.name, seed, result, phase))
        return results, failures

    def owned(self, folder: Path) -> list[Path]:
        works, root = self.job.works, folder / self.recipe
        runs = [run_directory(folder, self.recipe, work, seed) for work in works for seed in self.job.seeds]
        stacks = [stack for work in works if isinstance(work, RunConfig) for stack in stack_folders(work, root)]
        return [path for path in [*runs, *stacks] if path.is_dir()]

    def is_finished(self, path: Path) -> bool:
        files = [RESULT, DIVERGED, *[work.file for work in self.job.works if isinstance(work, Study)]]
        return any((path / file).exists() for file in files)

    def ends(self) -> list[Event]:
        work, seeds = self.job.works[0], self.job.seeds
        if len(self.job.works) > 1 or isinstance(work, Study):
            return []
        found = {seed: finished(run_directory(self.home, self.recipe, work, seed), work, seed) for seed in seeds}
        return [end_of(self.job.name, seed, result) for seed, result in found.items() if result is not None]

    def parts(self) -> list[SweepUnit]:
        seeds, half = self.job.seeds, len(self.job.seeds) // 2
        single = len(self.job.works) == 1 and not isinstance(self.job.work, Study)
        if not (half and single and self.job.experiment.training.stacked):
            return []
        jobs = [dataclasses.replace(self.job, seeds=part) for part in (seeds[:half], seeds[half:])]
        return [dataclasses.replace(self, job=job) for job in jobs]

    def forget_whole(self, folder: Path) -> None:
        if self.parts():
            for stack in stack_folders(self.job.experiment, folder / self.recipe):
                shutil.rmtree(stack)


def _system_json(job: Job, found: Sequence[AnyResult]) -> dict[str, Any]:
    results = [result for result in found if isinstance(result, RunResult)]
    return {
        "name": job.name,
        "claim": job.claim,
        "train": training_distribution(RunConfig.from_json(results[0].experiment)),
        "seeds": [result.seed for result in results],
        "fitted": [result.fitted for result in results],
        "in_distribution": [result.in_distribution.rate() for result in results],
        "seconds": [result.seconds for result in results],
        "commits": sorted({result.commit for result in results}),
        # Where each string goes wrong is long and stays in the result files.
        "scores": [
            {"seed": result.seed, **{key: value for key, value in score.items() if key != "first_error_at"}}
            for result in results
            for score in result.to_json()["scores"]
        ],
    }


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
