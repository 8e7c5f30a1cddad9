"""Compares what theory says of a language or task with the frozen ladder of the blind study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lengthwise.core.errors import UnknownNameError, require
from lengthwise.core.files import locked, write_json, write_text
from lengthwise.experiments.blind.comparison.scoring import cell_row
from lengthwise.experiments.blind.ladder import ENCODINGS
from lengthwise.experiments.blind.run import run_within
from lengthwise.experiments.blind.study import BlindStudy, frozen_study
from lengthwise.experiments.blind.user_list import user_study
from lengthwise.experiments.events import Event
from lengthwise.prediction.measured import measured_reliability, reliability_line
from lengthwise.prediction.predict import predict_task
from lengthwise.prediction.target import Expression, parse_target, unsuitable
from lengthwise.prediction.verdict import position_systems
from lengthwise.report.pages import verification_page
from lengthwise.tasks import Task
from lengthwise.tasks.language import Language
from lengthwise.training.threads import cores


@dataclass(frozen=True)
class Verification:
    """The rows of verdict against measurement, how often such verdicts held in the blind study, and the page."""

    rows: tuple[dict[str, Any], ...]
    page: Path

    @property
    def agrees(self) -> bool | None:
        """Whether no decided row disagrees; None if none is decided."""
        decided = [row["right"] for row in self.rows if row["right"] is not None]
        return all(decided) if decided else None


def verify(
    target: str,
    encodings: Sequence[str],
    out: Path,
    *,
    budget: float,
    jobs: int | None = None,
    note: Callable[[str], None] = lambda line: None,
) -> Verification:
    """Decide, climb the frozen ladder with five seeds per rung, compare, and write ``out``/report.html.

    Training lengths, rungs, seeds and words are those of the blind study; a rung speaks when four of five seeds fit.
    ``target`` is a task or a regular language (see `parse_target`). ``budget`` is in seconds; what it does not suffice
    for is reported as not run, and the same command with a larger one goes on from there. ``jobs`` rungs run at
    the same time (default: as many as there are cores). Raises `LengthwiseError` for other targets, an unknown
    encoding, or a language without long words.
    """
    require(budget > 0, f"--budget must be positive, got {budget:g} s")
    for name in encodings:
        if name not in ENCODINGS:
            raise UnknownNameError("encoding of the frozen ladder", name, ENCODINGS)
    task = task_named(target)
    study = _study(target, task, encodings, out)
    said = {encoding: _said(task, encoding) for encoding in encodings}
    for reason, _ in said.values():
        note(reason)

    def progress(event: Event) -> None:
        if event.text:
            note(event.text)

    work = out / "work"
    work.mkdir(parents=True, exist_ok=True)
    with locked(work):
        run_within(study, work, encodings, budget=float(budget), jobs=jobs or cores(), progress=progress)
    (entry,) = study.entries()
    rows = [cell_row(study, "languages", entry, encoding) for encoding in encodings]
    measured = measured_reliability()
    for row in rows:
        row["next_symbols"] = said[row["encoding"]][1]
        line = reliability_line(measured, row["encoding"], row["predicted"], row["next_symbols"])
        row["reliability"] = line or "the blind study has no such verdict"
        note(f"{row['encoding']}: {row['reliability']}")
    page, reasons = out / "report.html", [reason for reason, _ in said.values()]
    write_json(out / "verification.json", {"target": target, "verdicts": reasons, "rows": rows})
    write_text(page, verification_page(rows, f"Verification of {target}", reasons))
    return Verification(tuple(rows), page)


def _said(task: Task, encoding: str) -> tuple[str, str | None]:
    """What theory says, in a line, and its verdict on next symbols alone, which is None without a finite automaton."""
    (verdict,) = predict_task(task, position_systems([encoding])).verdicts
    line = f"{encoding}: theory says {verdict.answer}: {verdict.why}"
    if verdict.next_symbols not in (None, verdict.answer):
        line += f"; {verdict.next_symbols} for next symbols alone, which are measured here and are easier"
    return line, verdict.next_symbols


def task_named(target: str) -> Task:
    """The task of a target, or the `Language` of an expression; raises `LengthwiseError` for other targets."""
    parsed = parse_target(target)
    if isinstance(parsed, Expression):
        return Language(language=parsed.text)
    if not isinstance(parsed, Task):
        raise unsuitable(target, parsed, "verify", "a task or a regular expression")
    return parsed


def _study(target: str, task: Task, encodings: Sequence[str], out: Path) -> BlindStudy:
    """The study of one target, as a file that another process can read."""
    return user_study(out, frozen_study(), {target: task}, list(dict.fromkeys([*ENCODINGS, *encodings])))
