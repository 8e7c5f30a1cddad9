"""Prepares what the page says on a task: its summary, an example, its dependencies and its structure by length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lengthwise.prediction.shown_task.stored_task import title_of
from lengthwise.prediction.shown_task.task_example import (
    StructureTable,
    Token,
    TokenSequence,
    short_example,
    tested_structure,
)
from lengthwise.report.chance import known_task
from lengthwise.report.figures.dependency_figure import draw_dependencies
from lengthwise.report.pictures import Picture
from lengthwise.report.summary import SystemSummary
from lengthwise.tasks import Task

MOST_FIGURES = 2
"""Further tasks of a recipe show their examples without figures and structure tables."""
NOT_STORED = (
    "This task is not part of lengthwise, and this result was written before results kept the structure of such tasks. "
    "Its file is not run to draw a page."
)
CAPTION = (
    "The dependencies of the example. Bold: predicted tokens. Filled: one of them; outlined: the tokens that it "
    "depends on. Dashed: the token before it, where the model predicts it and from where distances count. Faint lines: "
    "all other dependencies."
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
    specs = {repr(sorted(s.experiment["task"].items(), key=str)): s for s in systems}
    found: dict[object, tuple[SystemSummary, TokenSequence | None]] = {}
    for system in specs.values():
        shown = _example(system)
        name = system.experiment["task"]["name"]
        found.setdefault(name if shown is None else (title_of(name), shown.tokens), (system, shown))
    labels = _labels([system.experiment["task"] for system, _ in found.values()])
    pairs = enumerate(zip(labels, found.values(), strict=True))
    return [_section(label, *pair, index < MOST_FIGURES) for index, (label, pair) in pairs]


def _labels(tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    """The name of each task, with the texts and switches that differ between tasks of the same name."""
    labels = []
    for task in tasks:
        rivals = [other for other in tasks if other["name"] == task["name"]]
        keys = [key for key, value in task.items() if isinstance(value, bool | str) and key != "name"]
        parts = [f"{key} {task[key]}" for key in keys if any(other.get(key) != task[key] for other in rivals)]
        labels.append(", ".join([title_of(str(task["name"])), *parts]))
    return labels


def _section(label: str, system: SystemSummary, shown: TokenSequence | None, full: bool) -> TaskSection:
    task, stored = known_task(system.experiment), system.task
    if task is None and stored is None:
        return TaskSection(label, note=NOT_STORED)
    about = TaskSection(label, task.summary if task is not None else stored.summary if stored is not None else "")
    if shown is not None:
        about = replace(about, note=f"An example of length {shown.length}:", length=shown.length, tokens=shown.tokens)
    if not full:
        return about
    figure = None if shown is None else Picture(f"{label}-dependencies", draw_dependencies(shown))
    return replace(about, structure=_structure(system, task), figure=figure)


def _structure(system: SystemSummary, task: Task | None) -> StructureTable | None:
    if task is None:
        return None if system.task is None else system.task.structure
    return tested_structure(task, system.experiment.get("evaluation", {}).get("lengths") or [])


def _example(system: SystemSummary) -> TokenSequence | None:
    task = known_task(system.experiment)
    if task is not None:
        return short_example(task)
    return None if system.task is None else system.task.example
