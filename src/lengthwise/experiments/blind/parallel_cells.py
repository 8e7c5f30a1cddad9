"""The cells of a small study at the same time, a process for each encoding; results travel as files."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from lengthwise.core.errors import LengthwiseError, OutOfTimeError
from lengthwise.experiments.blind.cells import cell_path, read_cell
from lengthwise.experiments.blind.run import run_cell
from lengthwise.experiments.blind.study import BlindStudy, StudyEntry, read_study
from lengthwise.experiments.workers import run_processes
from lengthwise.training.threads import use_one_thread_per_job

Note = Callable[[str], None]


def run_encodings(
    study: BlindStudy, work: Path, encodings: Sequence[str], *, budget: float, jobs: int, note: Note
) -> None:
    """Climb the ladder with every entry of ``study`` under each encoding for ``budget`` seconds.

    What is not finished by then is resumed by the next call. With ``jobs`` above 1 every encoding has a process of its
    own, with one thread. A system clock that is set anew changes nothing.
    """
    ends = time.monotonic() + budget
    if jobs == 1 or len(encodings) == 1:
        for place, encoding in enumerate(encodings):
            share = max(0.0, ends - time.monotonic()) / (len(encodings) - place)
            climb(study, work, encoding, share, note)
        return
    arguments = [(study.folder, work, encoding, budget) for encoding in encodings]
    for line in run_processes(_work, arguments, len(encodings)):
        note(line)


def climb(study: BlindStudy, work: Path, encoding: str, budget: float, note: Note) -> None:
    """Climb the ladder with every entry under one encoding, for so many seconds."""

    ends = time.monotonic() + budget
    began: tuple[float, int] | None = None
    last = (0, 0.0)

    def watch(step: int, loss: float) -> None:
        nonlocal began, last
        began, last = began or (time.monotonic(), step), (step, loss)
        if time.monotonic() > ends:
            raise OutOfTimeError
        if step % 500 == 0:
            note(f"{encoding}: step {step}, loss {loss:.4f}")

    for entry in study.entries():
        try:
            run_cell(study, "languages", entry, encoding, work, note, watch, listed=False)
        except OutOfTimeError:
            note(f"{encoding}: {_left(study, entry, encoding, began or (ends, 0), last)}")
            return


def _left(
    study: BlindStudy, entry: StudyEntry, encoding: str, began: tuple[float, int], last: tuple[int, float]
) -> str:
    """What is missing of the rung at work, in words, with the time that it takes at the speed so far."""
    number = 1
    while number < len(study.ladder):
        if read_cell(study, cell_path(study, "languages", entry.name, encoding, number)) is None:
            break
        number += 1
    (step, loss), steps = last, study.ladder[number - 1].steps
    seconds = (time.monotonic() - began[0]) / max(1, step - began[1]) * (steps - step)
    return (
        f"the budget is used up at step {step:,} of {steps:,} of rung {number}, loss {loss:.4f}. The protocol trains "
        f"all steps and then tests, and the time for testing is not counted. The same command goes on from here; "
        f"this rung takes about {max(1, math.ceil(seconds / 60))} more minutes (--budget)"
    )


def _work(folder: Path, work: Path, encoding: str, budget: float, pipe: Connection) -> None:
    """One process."""
    use_one_thread_per_job()
    try:
        climb(read_study(folder), work, encoding, budget, pipe.send)
    except LengthwiseError as error:
        with contextlib.suppress(BrokenPipeError):
            pipe.send(error)
    except (KeyboardInterrupt, BrokenPipeError):
        pass  # Nobody is left to report to; the checkpoint is there.
    finally:
        pipe.close()
