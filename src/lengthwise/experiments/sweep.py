"""All systems and seeds of a recipe: finished seeds are reused, an interrupted one goes on, the rest is run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError, TrainingDivergedError, UnknownNameError, require
from lengthwise.experiments.experiment import Experiment
from lengthwise.experiments.jobs import Diverged, Phase, jobs_of, run_jobs
from lengthwise.experiments.provenance import commit
from lengthwise.experiments.recipe import Recipe, System
from lengthwise.experiments.run import divergence, finished, note_divergence, run_directory, run_seed
from lengthwise.experiments.stack import train_seeds


@dataclass(frozen=True)
class Event:
    """What a sweep is doing: training step or tested cell ``done`` of ``total``; ``number`` is loss or accuracy.

    ``reused`` and ``finished`` come once per seed, with the result; ``number`` is then the accuracy in distribution.
    """

    system: System
    seed: int
    phase: Phase
    done: int = 0
    total: int = 0
    number: float = 0.0
    result: dict[str, Any] | None = None


@dataclass(frozen=True)
class Sweep:
    """The results of a recipe, one list of result files' contents per system, in the order of its seeds."""

    recipe: Recipe
    results: tuple[tuple[dict[str, Any], ...], ...]

    def to_json(self) -> dict[str, Any]:
        """The JSON form that ``lengthwise run --json`` prints."""
        systems = [_system_json(s, r) for s, r in zip(self.recipe.systems, self.results, strict=True)]
        trains = [system["train"] for system in systems]
        longest = max(trains, key=lambda train: train["max_length"])
        if all(train == trains[0] for train in trains):
            # The usual case: one training distribution, stated once.
            systems = [{key: value for key, value in system.items() if key != "train"} for system in systems]
        return {"recipe": self.recipe.name, "commit": commit(), "train": longest, "systems": systems}


def selected(recipe: Recipe, only: Sequence[str], encodings: Sequence[str] = ()) -> Recipe:
    """The recipe with the systems of these names (or tasks) and encodings only; raises `UnknownNameError`.

    Without names and encodings, all but the extra systems.
    """
    names = [name for system in recipe.systems for name in (system.name, system.task) if name]
    for name in only:
        if name not in names:
            raise UnknownNameError(f"system of recipe {recipe.name!r}", name, names)
    known = [system.positions for system in recipe.systems if system.positions]
    for name in encodings:
        if name not in known:
            raise UnknownNameError(f"encoding of recipe {recipe.name!r}", name, known)

    def wanted(system: System) -> bool:
        by_default = not system.extra or system.name in only
        asked = system.positions in encodings if encodings else by_default
        return asked and (not only or system.name in only or system.task in only)

    systems = tuple(system for system in recipe.systems if wanted(system))
    if not systems:
        raise LengthwiseError(f"recipe {recipe.name!r} has no system of these names with these encodings; give others")
    return dataclasses.replace(recipe, systems=systems)


def sweep(recipe: Recipe, out: Path, *, jobs: int = 1, observe: Callable[[Event], None] | None = None) -> Sweep:
    """Run what is not finished, system by system; each result is written as soon as it is there.

    With ``jobs`` above 1, as many processes work on different seeds at the same time; the results are the same.
    Of a system with fallbacks the results are those of the configuration in which most seeds fitted.
    Raises `LengthwiseError` for a damaged file in ``out`` or the run of another configuration, before any training, and
    `TrainingDivergedError` when a seed diverged and no other configuration of its system spoke for it; all others are
    finished then.
    """
    tell = observe or (lambda event: None)
    if out.exists() and not out.is_dir():
        raise LengthwiseError(f"--out {out} is a file; choose a folder")
    require(jobs >= 1, f"--jobs must be at least 1, got {jobs}")
    known = _known(recipe, out)
    ran: set[tuple[str, int]] = set()
    if jobs > 1:
        ran = _side_by_side(recipe, known, out, jobs, tell)
        known = _known(recipe, out)

    def untold(event: Event) -> None:
        if (event.system.name, event.seed) not in ran:
            tell(event)

    results, failures = [], []
    for system in recipe.systems:
        rows, failed = _search(recipe, system, known, out, untold)
        results.append(rows)
        failures += failed
    _raise_diverged(failures)
    return Sweep(recipe, tuple(results))


def _raise_diverged(failures: Sequence[str]) -> None:
    if failures:
        more = f" (and {len(failures) - 1} more; all other seeds are finished)" if len(failures) > 1 else ""
        raise TrainingDivergedError(min(failures) + more)


Known = Mapping[tuple[str, int], dict[str, Any] | None]


def _known(recipe: Recipe, out: Path) -> Known:
    return {
        (system.name, seed): finished(run_directory(out, recipe.name, system.experiment, seed))
        for system in recipe.systems
        for seed in system.seeds
    }


def _side_by_side(
    recipe: Recipe, known: Known, out: Path, count: int, tell: Callable[[Event], None]
) -> set[tuple[str, int]]:
    """Run the pending seeds in processes of their own; returns the seeds whose end was told.

    Raises `TrainingDivergedError` at the end when seeds diverged.
    """
    pieces = jobs_of(recipe, lambda system, seed: known[system.name, seed] is not None)
    systems = {system.name: system for system in recipe.systems}
    ended, failures = set(), []
    for message in run_jobs(pieces, out, count):
        if isinstance(message, Diverged):
            failures.append(message.what)
            continue
        name, seed, phase, done, total, number, result = message
        if phase in ("finished", "reused"):
            ended.add((name, seed))
        tell(Event(systems[name], seed, phase, done, total, number, result))
    _raise_diverged(failures)
    return ended


def _search(recipe: Recipe, system: System, known: Known, out: Path, tell: Callable[[Event], None]) -> Rows:
    """The results of the first configuration of a system in which enough seeds fit, or else of the best one."""
    best = _configuration(recipe, system, known, out, tell)
    for experiment in system.fallbacks:
        if _fitted(best)[0] >= system.needed:
            break
        next_one = dataclasses.replace(system, experiment=experiment)
        found = {
            (system.name, seed): finished(run_directory(out, recipe.name, experiment, seed)) for seed in system.seeds
        }
        best = max(best, _configuration(recipe, next_one, found, out, tell), key=_fitted)
    return best


Rows = tuple[tuple[dict[str, Any], ...], list[str]]
"""Results of a configuration's seeds, and what there is to say of those that diverged."""


def _fitted(rows: Rows) -> tuple[int, int]:
    """Seeds that fitted, then seeds that have results at all."""
    return sum(result["fitted"] is True for result in rows[0]), len(rows[0])


def _configuration(recipe: Recipe, system: System, known: Known, out: Path, tell: Callable[[Event], None]) -> Rows:
    """All seeds of one configuration; one that diverges ends without a result, and the others go on."""
    rows, failures = [], []
    pending = [seed for seed in system.seeds if known[system.name, seed] is None]
    folders = {seed: run_directory(out, recipe.name, system.experiment, seed) for seed in pending}
    # The same training would diverge again.
    diverged = {seed: failure for seed in pending if (failure := divergence(folders[seed])) is not None}
    pending = [seed for seed in pending if seed not in diverged]
    if system.experiment.training.stacked and len(pending) > 1:
        diverged |= _train_stack(recipe, system, pending, out, tell)
    for seed in system.seeds:
        result = known[system.name, seed]
        phase: Phase = "reused"
        try:
            if seed in diverged:
                raise TrainingDivergedError(diverged[seed])
            if result is None:
                result, phase = _run(recipe, system, seed, out, tell), "finished"
        except TrainingDivergedError as error:
            note_divergence(folders[seed], str(error))
            failures.append(f"{system.name}, seed {seed}: {error}")
            continue
        rows.append(result)
        tell(Event(system, seed, phase, number=_in_distribution(result), result=result))
    return tuple(rows), failures


def _run(recipe: Recipe, system: System, seed: int, out: Path, tell: Callable[[Event], None]) -> dict[str, Any]:
    def report(phase: str, done: int, total: int, number: float) -> None:
        tell(Event(system, seed, "train" if phase == "train" else "test", done, total, number))

    folder = run_directory(out, recipe.name, system.experiment, seed)
    return run_seed(system.experiment, seed, folder, recipe=recipe.name, system=system.name, report=report)


def _train_stack(
    recipe: Recipe, system: System, seeds: list[int], out: Path, tell: Callable[[Event], None]
) -> dict[int, str]:
    """Train the seeds as one stack; `_run` then finds them trained. Returns what to say of those that diverged."""

    def report(phase: str, done: int, total: int, number: float) -> None:
        tell(Event(system, seeds[0], "train", done, total, number))

    return train_seeds(system.experiment, seeds, out, recipe=recipe.name, report=report)


def _in_distribution(result: dict[str, Any]) -> float:
    score = result["in_distribution"]
    return score["correct"]["exact_match"] / score["n"]


def _system_json(system: System, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": system.name,
        "claim": system.claim,
        "train": training_distribution(Experiment.from_json(results[0]["experiment"])),
        "seeds": [result["seed"] for result in results],
        "fitted": [result["fitted"] for result in results],
        "in_distribution": [_in_distribution(result) for result in results],
        "seconds": [result.get("seconds") for result in results],
        "commits": sorted({str(result.get("commit", "unknown")) for result in results}),
        "scores": [_score_json(result["seed"], score) for result in results for score in result["scores"]],
    }


def _score_json(seed: int, score: dict[str, Any]) -> dict[str, Any]:
    # Where each string goes wrong is long and stays in the result files.
    return {"seed": seed, **{key: value for key, value in score.items() if key != "first_error_at"}}


def training_distribution(experiment: Experiment) -> dict[str, Any]:
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
