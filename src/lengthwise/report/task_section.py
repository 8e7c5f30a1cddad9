"""Prepares what the page says on a task: its summary, an example, its dependencies and its structure by length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lengthwise.positions.schemes import SCHEMES
from lengthwise.report.chance import known_task
from lengthwise.report.example import Example, StructureTable, Token, example, structure_table
from lengthwise.report.figures.dependency_figure import MOST_TOKENS, draw_dependencies
from lengthwise.report.pictures import Picture
from lengthwise.report.summary import SystemSummary
from lengthwise.tasks import Task

MOST_FIGURES = 2
"""Further tasks of a recipe show their examples without figures and structure tables."""
CAPTION = (
    "The dependencies of the example. Bold: predicted tokens. Filled: one of them; outlined: the tokens that it "
    "depends on. Faint lines: all other dependencies."
)


@dataclass(frozen=True)
class TaskSection:
    """One task of a recipe."""

    task: str
    summary: str = ""
    note: str = ""
    length: int = 0
    tokens: tuple[Token, ...] = ()
    structure: StructureTable | None = None
    figure: Picture | None = None
    caption: str = CAPTION


def task_sections(systems: Iterable[SystemSummary]) -> list[TaskSection]:
    """One section per task; configurations of a task with the same example share one."""
    specs = {repr(sorted(s.experiment["task"].items(), key=str)): s.experiment for s in systems}
    found: dict[object, tuple[Mapping[str, Any], Example | None]] = {}
    for experiment in specs.values():
        task = known_task(experiment)
        shown = None if task is None else _example(task)
        key = experiment["task"]["name"] if shown is None else (shown.task.name, shown.tokens)
        found.setdefault(key, (experiment, shown))
    labels = _labels([experiment["task"] for experiment, _ in found.values()])
    pairs = enumerate(zip(labels, found.values(), strict=True))
    return [_section(label, *pair, index < MOST_FIGURES) for index, (label, pair) in pairs]


def _labels(tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    """The name of each task, with the texts and switches that differ between tasks of the same name."""
    labels = []
    for task in tasks:
        rivals = [other for other in tasks if other["name"] == task["name"]]
        keys = [key for key, value in task.items() if isinstance(value, bool | str) and key != "name"]
        parts = [f"{key} {task[key]}" for key in keys if any(other.get(key) != task[key] for other in rivals)]
        labels.append(", ".join([str(task["name"]), *parts]))
    return labels


def _section(label: str, experiment: Mapping[str, Any], shown: Example | None, full: bool) -> TaskSection:
    task = known_task(experiment)
    if task is None:
        note = "This task is not part of lengthwise. Its file is not run to draw a report, so no structure is shown."
        return TaskSection(label, note=note)
    about = TaskSection(label, task.summary)
    if shown is not None:
        about = replace(about, note=f"An example of length {shown.length}:", length=shown.length, tokens=shown.tokens)
    if not full:
        return about
    tested = experiment.get("evaluation", {}).get("lengths") or []
    lengths = sorted({int(n) for n in tested if task.lengths(int(n), int(n))})[:6] or None
    figure = None if shown is None else Picture(f"{label}-dependencies", draw_dependencies(shown))
    return replace(about, structure=structure_table(task, lengths, 0), figure=figure)


def _example(task: Task) -> Example | None:
    """The longest test layout of at most 12 if there is one, else a length near 5; None if all are too long to draw."""
    lengths: Sequence[int] = task.lengths(1, 12)
    tested = [(length, layout) for length in lengths for layout in task.test_layouts(length)[:1]]
    others = [(length, None) for length in sorted(lengths, key=lambda n: abs(n - 5))]
    for length, layout in [*tested[-1:], *others]:
        shown = example(task, SCHEMES.build("coupled"), length, 0, layout)
        if shown.scored and len(shown.tokens) <= MOST_TOKENS:
            return shown
    return None
