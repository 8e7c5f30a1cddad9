"""The rungs of a small study at the same time: a cell that may climb far starts its later rungs before it has to.

Which rung speaks does not depend on the order in which rungs are trained, so a free core takes one that may be needed.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, cast

from lengthwise.core.errors import LengthwiseError, OutOfTimeError
from lengthwise.experiments.blind.cells import cell_path, read_cell, write_cell
from lengthwise.experiments.blind.run import Note, fits, run_rung, work_folder
from lengthwise.experiments.blind.study import BlindStudy, StudyEntry, read_study
from lengthwise.experiments.workers import start_undisturbed
from lengthwise.training.threads import keep_memory, use_one_thread_per_job

TABLE = "languages"


@dataclass(frozen=True)
class RungJob:
    """One rung (from 1) of one cell."""

    name: str
    encoding: str
    number: int

    @property
    def cell(self) -> tuple[str, str]:
        """The cell that it belongs to."""
        return self.name, self.encoding


def run_rungs(study: BlindStudy, work: Path, encodings: Sequence[str], *, budget: float, jobs: int, note: Note) -> None:
    """Train rungs in ``jobs`` processes until every cell's ladder is climbed, or ``budget`` seconds have passed.

    A rung that is not needed is stopped and leaves nothing. What time did not suffice for is resumed by
    the next call. Raises the first `LengthwiseError` of a process.
    """
    ends = time.monotonic() + budget
    context = multiprocessing.get_context("spawn")
    running: dict[Any, tuple[Any, RungJob]] = {}
    given_up: set[RungJob] = set()
    try:
        while True:
            waiting = order(study, encodings)
            for ours, (process, job) in list(running.items()):
                if job not in waiting:
                    _stop(process, work_folder(work, _entry(study, job.name), job.encoding, job.number))
                    del running[ours]
            busy = {job for _, job in running.values()}
            free = [
                job for job in waiting if job not in busy and not _given_up(job, given_up, late=time.monotonic() > ends)
            ]
            for job in free[: max(0, jobs - len(running))]:
                ours, theirs = context.Pipe(duplex=False)
                arguments = (study.folder, work, job, ends - time.monotonic(), theirs)
                process = context.Process(target=_train, args=arguments, daemon=True)
                start_undisturbed(process)
                theirs.close()
                running[ours] = process, job
            if not running:
                return
            for ready in cast(list[Connection], wait(list(running))):
                if not _listen(ready, running, note):
                    process, job = running.pop(ready)
                    process.join()
                    given_up.add(job)
    finally:
        for process, _ in running.values():
            process.terminate()
        for process, _ in running.values():
            process.join()


def order(study: BlindStudy, encodings: Sequence[str]) -> list[RungJob]:
    """The rungs that are or may be needed and have no result, the most useful to start first.

    A cell for which theory says no often climbs to the end, and its last rung takes longest: it comes right behind the
    rung that has to be trained next.
    """
    found: list[tuple[int, int, RungJob]] = []
    last = len(study.ladder)
    for entry in study.entries():
        for encoding in encodings:
            missing = list(_missing(study, entry, encoding))
            no = entry.predicted[encoding] != "yes"
            for number in missing:
                needed = number == missing[0]
                rank = (0 if needed else 1 if number == last else 3) if no else (2 if needed else 4)
                found.append((rank, number, RungJob(entry.name, encoding, number)))
    return [job for _, _, job in sorted(found, key=lambda item: item[:2])]


def _missing(study: BlindStudy, entry: StudyEntry, encoding: str) -> Iterator[int]:
    """Rungs without a result, below the first one that speaks."""
    for number in range(1, len(study.ladder) + 1):
        result = read_cell(study, cell_path(study, TABLE, entry.name, encoding, number))
        if result is None:
            yield number
        elif result["speaks"]:
            return


def _given_up(job: RungJob, given_up: set[RungJob], *, late: bool) -> bool:
    """Whether time was not enough for this rung, or for another one of its cell."""
    return (late and job.number > 1) or any(job.cell == other.cell for other in given_up)


def _listen(ready: Connection, running: dict[Any, tuple[Any, RungJob]], note: Note) -> bool:
    """Pass on one message; False at the end of a process."""
    try:
        message = ready.recv()
    except EOFError:
        process, job = running[ready]
        process.join()
        if process.exitcode:
            raise LengthwiseError(
                f"the process of {job.encoding}, rung {job.number}, ended with exit code {process.exitcode}; run the "
                "same command again to resume, with fewer --jobs if memory ran out"
            ) from None
        return False
    if isinstance(message, LengthwiseError):
        raise message
    note(message)
    return True


def _stop(process: Any, folder: Path) -> None:
    process.terminate()
    process.join()
    shutil.rmtree(folder, ignore_errors=True)


def _entry(study: BlindStudy, name: str) -> StudyEntry:
    return next(entry for entry in study.entries() if entry.name == name)


class StepWatch:
    """Called with every step and its loss; tells now and then how far it is, and ends the training in time."""

    def __init__(self, what: str, budget: float, note: Note) -> None:
        self.what, self.ends, self.note = what, time.monotonic() + budget, note
        self.began: tuple[float, int] | None = None
        self.last = (0, 0.0)

    def __call__(self, step: int, loss: float) -> None:
        """Raise `OutOfTimeError` when the time is up."""
        self.began, self.last = self.began or (time.monotonic(), step), (step, loss)
        if time.monotonic() > self.ends:
            raise OutOfTimeError
        if step % 500 == 0:
            self.note(f"{self.what}: step {step}, loss {loss:.4f}")

    def left(self, number: int, steps: int) -> str:
        """What is missing of rung ``number``, in words, with the time that it takes at the speed so far."""
        (step, loss), (since, first) = self.last, self.began or (self.ends, 0)
        seconds = (time.monotonic() - since) / max(1, step - first) * (steps - step)
        return (
            f"the budget is used up at step {step:,} of {steps:,} of rung {number}, loss {loss:.4f}. The protocol "
            "trains all steps and then tests, and the time for testing is not counted. The same command goes on from "
            f"here; this rung takes about {max(1, math.ceil(seconds / 60))} more minutes (--budget)"
        )


def _train(folder: Path, work: Path, job: RungJob, budget: float, pipe: Connection) -> None:
    """One process: one rung."""
    keep_memory()
    use_one_thread_per_job()
    try:
        _one_rung(read_study(folder), work, job, budget, pipe.send)
    except LengthwiseError as error:
        with contextlib.suppress(BrokenPipeError):
            pipe.send(LengthwiseError(str(error)))  # of a type that every process can read
    except (KeyboardInterrupt, BrokenPipeError):
        pass  # Nobody is left to report to; the checkpoint is there.
    finally:
        pipe.close()


def _one_rung(study: BlindStudy, work: Path, job: RungJob, budget: float, note: Note) -> None:
    entry = _entry(study, job.name)
    watch = StepWatch(f"{job.encoding}, rung {job.number}", budget, note)
    note(f"{watch.what} begins")
    try:
        result = run_rung(study, entry, job.encoding, job.number, work, watch)
    except OutOfTimeError:
        note(f"{job.encoding}: {watch.left(job.number, study.ladder[job.number - 1].steps)}")
        return
    write_cell(study, cell_path(study, TABLE, entry.name, job.encoding, job.number), result, listed=False)
    shutil.rmtree(work_folder(work, entry, job.encoding, job.number), ignore_errors=True)
    note(f"{watch.what}: {fits(result)}, {result['seconds']} s")
