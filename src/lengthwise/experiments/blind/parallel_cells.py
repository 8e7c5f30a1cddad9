"""The cells of a small study one after the other in this process, or rung by rung in several."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from lengthwise.core.errors import OutOfTimeError
from lengthwise.experiments.blind.cells import cell_path, read_cell
from lengthwise.experiments.blind.run import run_cell
from lengthwise.experiments.blind.rung_pool import Note, StepWatch, run_rungs
from lengthwise.experiments.blind.study import BlindStudy, StudyEntry


def run_encodings(
    study: BlindStudy, work: Path, encodings: Sequence[str], *, budget: float, jobs: int, note: Note
) -> None:
    """Climb the ladder with every entry of ``study`` under each encoding for ``budget`` seconds.

    What is not finished by then is resumed by the next call. With ``jobs`` above 1 as many rungs are trained at the
    same time, each in a process of its own with one thread. A system clock that is set anew changes nothing.
    """
    if jobs > 1:
        run_rungs(study, work, encodings, budget=budget, jobs=jobs, note=note)
        return
    ends = time.monotonic() + budget
    for index, encoding in enumerate(encodings):
        climb(study, work, encoding, max(0.0, ends - time.monotonic()) / (len(encodings) - index), note)


def climb(study: BlindStudy, work: Path, encoding: str, budget: float, note: Note) -> None:
    """Climb the ladder with every entry under one encoding, for so many seconds."""
    watch = StepWatch(encoding, budget, note)
    for entry in study.entries():
        try:
            run_cell(study, "languages", entry, encoding, work, note, watch, listed=False)
        except OutOfTimeError:
            number = _at_work(study, entry, encoding)
            note(f"{encoding}: {watch.left(number, study.ladder[number - 1].steps)}")
            return


def _at_work(study: BlindStudy, entry: StudyEntry, encoding: str) -> int:
    """The first rung without a result."""
    number = 1
    while number < len(study.ladder):
        if read_cell(study, cell_path(study, "languages", entry.name, encoding, number)) is None:
            break
        number += 1
    return number
