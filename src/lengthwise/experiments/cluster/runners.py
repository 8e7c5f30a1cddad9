"""What sweeps and blind studies call to have their work done on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from lengthwise.experiments.blind.run import CellRunner, Note
from lengthwise.experiments.blind.study import BlindStudy, StudyEntry
from lengthwise.experiments.cluster.cell_piece import CellPiece
from lengthwise.experiments.cluster.drive import Scheduler, drive
from lengthwise.experiments.cluster.on_ray import RayScheduler
from lengthwise.experiments.cluster.piece import Piece
from lengthwise.experiments.cluster.stage_piece import StagePiece
from lengthwise.experiments.cluster.sweep_piece import SweepPiece
from lengthwise.experiments.comparison.run import Clock, StageRunner
from lengthwise.experiments.comparison.stages import FIRST_SEED, plan_in, results_of
from lengthwise.experiments.events import Event
from lengthwise.experiments.recipe import Job
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import finished, run_directory
from lengthwise.experiments.sweep import Runner
from lengthwise.experiments.workers import Tell


def sweep_on(scheduler: Callable[[], Scheduler]) -> Runner:
    """A `Runner` with one task for each job and seed, or for each stack of seeds."""

    def run(recipe: str, out: Path, jobs: list[Job], tell: Tell) -> list[str]:
        last: dict[Path, dict[str, Any]] = {}

        def watch(piece: Piece, state: dict[str, Any]) -> None:
            event = Event(**state)
            # What has ended is told once its files are there.
            if last.get(piece.root) != state and not event.ended:
                last[piece.root] = state
                tell(event)

        failures = []
        pieces = [SweepPiece(recipe, out.resolve(), job) for job in jobs]
        with closing(drive(pieces, scheduler(), watch)) as ended:
            for piece, outcome in ended:
                assert isinstance(piece, SweepPiece)
                if outcome.status == "diverged":
                    failures.append(outcome.what)
                for event in _ends(piece):
                    tell(event)
        return failures

    return run


def _ends(piece: SweepPiece) -> list[Event]:
    """The ends of the seeds of a job without fallbacks that trains."""
    job, found = piece.job, []
    if job.fallbacks or not isinstance(job.work, RunConfig):
        return []
    for seed in job.seeds:
        result = finished(run_directory(piece.out, piece.recipe, job.work, seed), job.work, seed)
        if result is not None:
            rate, fitted = result.in_distribution.rate(), result.fitted
            found.append(Event(job.name, seed, "finished", number=rate, fitted=fitted, seconds=result.seconds))
    return found


def stages_on(scheduler: Callable[[], RayScheduler]) -> StageRunner:
    """A `StageRunner` with one task for each system."""

    def run(stage: str, folder: Path, jobs: list[Job], clock: Clock) -> int:
        last: dict[Path, dict[str, Any]] = {}

        def watch(piece: Piece, state: dict[str, Any]) -> None:
            event = Event(**state)
            if last.get(piece.root) != state and not event.ended:
                last[piece.root] = state
                clock(event)

        if not jobs:
            return 1
        made = scheduler()
        slots = min(made.slots, len(jobs))
        pieces = [StagePiece(folder.resolve(), stage, job) for job in jobs]
        with closing(drive(pieces, made, watch, clock.check)) as ended:
            for piece, _ in ended:
                assert isinstance(piece, StagePiece)
                for event in _stage_ends(stage, folder, piece):
                    clock(event)
        return slots

    return run


def _stage_ends(stage: str, folder: Path, piece: StagePiece) -> list[Event]:
    """The ends of the seeds of a system that a stage trained."""
    plan, found = plan_in(folder), []
    for result in results_of(folder, plan, plan.system(piece.job.name)) if stage != "time" else []:
        if (result.seed == FIRST_SEED) == (stage == "tune"):
            rate, fitted = result.in_distribution.rate(), result.fitted
            found.append(
                Event(piece.job.name, result.seed, "finished", number=rate, fitted=fitted, seconds=result.seconds)
            )
    return found


def cells_on(scheduler: Callable[[], Scheduler]) -> CellRunner:
    """A `CellRunner` with one task for each cell."""

    def run(study: BlindStudy, table: str, cells: Sequence[tuple[StudyEntry, str]], work: Path, note: Note) -> None:
        said: set[tuple[Path, str]] = set()

        def watch(piece: Piece, state: dict[str, Any]) -> None:
            if "note" in state and (piece.root, state["note"]) not in said:
                said.add((piece.root, state["note"]))
                note(state["note"])

        pieces = [CellPiece(study.folder.resolve(), table, entry.name, name, work.resolve()) for entry, name in cells]
        with closing(drive(pieces, scheduler(), watch)) as ended:
            for count, (piece, _) in enumerate(ended, start=1):
                assert isinstance(piece, CellPiece)
                note(f"[{count}/{len(cells)}] {piece.entry}, {piece.encoding}: finished")

    return run
