"""Compares what theory predicts for a language or task with small transformers that are trained and tested."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError, UnknownNameError, require
from lengthwise.core.files import write_json, write_text
from lengthwise.core.rng import stream
from lengthwise.experiments.agreement import Agreement, cell, confusion
from lengthwise.experiments.experiment import Experiment
from lengthwise.experiments.recipes.huang_cells import (
    ENCODINGS,
    TASK_SIZES,
    Range,
    Size,
    cell_experiment,
    language_sizes,
)
from lengthwise.experiments.stack import run_seeds
from lengthwise.prediction.predict import predict_task
from lengthwise.prediction.systems import chosen
from lengthwise.prediction.target import Expression, parse_target, unsuitable
from lengthwise.prediction.verdict import Verdict
from lengthwise.report.agreement_page import agreement_page
from lengthwise.tasks import Task
from lengthwise.tasks.language import Language

SPAN = Range(20, 500)
"""Shorter than published, so that an answer takes minutes: without positions, periods fit in far fewer steps."""
SEEDS = (0, 1, 2)
RECIPE = "verify"

Note = Callable[[str], None]
"""Called with one line about what is going on."""


@dataclass(frozen=True)
class Verification:
    """The rows of verdict against measurement, and the page that shows them."""

    rows: tuple[Agreement, ...]
    page: Path

    @property
    def agrees(self) -> bool | None:
        """Whether no decided row disagrees; None if none is decided."""
        decided = [row["right"] for row in self.rows if row["right"] is not None]
        return all(decided) if decided else None


class _OutOfTime(Exception):
    """The share of the budget of this cell is used up."""


def verify(
    target: str, encodings: Sequence[str], out: Path, *, budget: float, note: Note = lambda line: None
) -> Verification:
    """Decide, train three seeds per encoding at lengths to 20, test to 60, compare, and write ``out``/report.html.

    ``target`` is a task or a regular language (see `parse_target`). ``budget`` is in seconds; what it does not suffice
    for is reported as not run, and the same command with a larger one goes on from there. Raises `LengthwiseError` for
    other targets, or an unknown encoding.
    """
    require(budget > 0, f"--budget must be positive, got {budget:g} s")
    for name in encodings:
        if name not in ENCODINGS:
            raise UnknownNameError("encoding", name, ENCODINGS)
    task = task_named(target)
    rows, reasons = [], []
    ends = time.monotonic() + budget
    for place, encoding in enumerate(encodings):
        verdict = _verdict(task, encoding)
        note(f"{encoding}: theory says {verdict.answer}: {verdict.why}")
        reasons.append(f"{encoding}: {verdict.answer}. {verdict.why}")
        share = max(0.0, ends - time.monotonic()) / (len(encodings) - place)
        results = _measure(task, encoding, out, time.monotonic() + share, note)
        # A search of one configuration counts here: a verification says what it found, not what there is.
        rows.append(cell(target, encoding, verdict.answer, results, searched=1, full_steps=0))
    page = out / "report.html"
    write_json(out / "verification.json", {"target": target, "verdicts": reasons, "rows": rows})
    notes = [f"Trained on lengths to {SPAN.trained}, {len(SEEDS)} seeds, {SPAN.samples} strings a bin.", *reasons]
    write_text(page, agreement_page(rows, confusion(rows), f"Verification of {target}", notes))
    return Verification(tuple(rows), page)


def task_named(target: str) -> Task:
    """The task of a target, or the `Language` of an expression; raises `LengthwiseError` for other targets."""
    parsed = parse_target(target)
    if isinstance(parsed, Expression):
        return Language(language=parsed.text)
    if not isinstance(parsed, Task):
        raise unsuitable(target, parsed, "verify", "a task or a regular expression")
    return parsed


def _verdict(task: Task, encoding: str) -> Verdict:
    return predict_task(task, chosen([encoding.partition("+")[0]])).verdicts[0]


def sizes(task: Task, encoding: str) -> tuple[Size, ...]:
    """What is tried, in this order, until two seeds of one fit: that of the recipe `huang`."""
    if not isinstance(task, Language):
        return TASK_SIZES
    answers = {verdict.system: verdict.answer for verdict in predict_task(task, chosen(["ape", "nope"])).verdicts}
    return language_sizes(encoding, periodic_or_local=answers == {"ape": "yes", "nope": "no"})


def experiments(task: Task, encoding: str) -> list[Experiment]:
    """The configurations that are tried; the position table holds the longest test string exactly."""
    bins = [task.lengths(low, high) for low, high in SPAN.bins]
    if not task.lengths(1, SPAN.trained) or not all(bins):
        raise LengthwiseError(
            f"{task.name} has no strings of some of the lengths 1–{SPAN.trained}, "
            + ", ".join(f"{low}–{high}" for low, high in SPAN.bins)
            + "; nothing about longer ones can be measured"
        )
    longest = task.batch(bins[-1][-1], 1, stream(0, "verify")).tokens
    return [cell_experiment(task, encoding, size, SPAN, rows=longest) for size in sizes(task, encoding)]


def _measure(task: Task, encoding: str, out: Path, deadline: float, note: Note) -> list[dict[str, Any]]:
    """The results of the configurations that were tried until enough seeds fitted, or time was up."""
    results: list[dict[str, Any]] = []

    def watch(phase: str, done: int, total: int, number: float = 0.0, /) -> None:
        # Testing what is trained is quick, and worth more than the seconds that it takes.
        if phase == "train" and time.monotonic() > deadline:
            raise _OutOfTime
        if phase == "train" and done % 500 == 0:
            note(f"{encoding}: step {done} of at most {total}, loss {number:.3f}")

    for experiment in experiments(task, encoding):
        try:
            found = run_seeds(experiment, SEEDS, out, recipe=RECIPE, system=encoding, report=watch)
        except _OutOfTime:
            note(f"{encoding}: the budget is used up; the same command with a larger --budget goes on from here")
            break
        results += [result.to_json() for result in found]
        fitted = sum(result.fitted for result in found)
        note(f"{encoding}: {fitted} of {len(found)} seeds fitted")
        if fitted >= 2:
            break
    return results
