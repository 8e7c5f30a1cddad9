"""The page of a results folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import named_file, write_text
from lengthwise.core.result_file import StudyResult, collector_paused
from lengthwise.positions.system import PositionSystem
from lengthwise.prediction.example import TokenSequence, short_example, tested_structure, title_of
from lengthwise.prediction.predict import predict_task
from lengthwise.prediction.verdict import Verdict
from lengthwise.report.figures import NARROW, Picture, draw_accuracy, draw_dependencies, write_pictures
from lengthwise.report.finding import headline
from lengthwise.report.html import render_page
from lengthwise.report.influence import KIND, InfluenceResult, influence_section
from lengthwise.report.success import answer_rows
from lengthwise.report.summary import (
    Cell,
    Lost,
    Panel,
    SeedResult,
    SystemSummary,
    brackets_text,
    chance_of,
    common_chance,
    contents,
    contradiction,
    differing_settings,
    fitted_text,
    hardest,
    kind_of,
    panels,
    recipe_titles,
    runs,
    seeds_text,
    summarize,
    trained_text,
)

MOST_FIGURES = 2
"""Further tasks of a recipe show their examples without figures and structure tables."""
MOST_DRAWN = 100
"""Systems on one page beyond which further recipes have their tables without figures."""
NOT_STORED = (
    "This task is not part of lengthwise, and this result was written before results kept the structure of such tasks. "
    "Its file is not run to draw a page."
)
CAPTION = (
    "The dependencies of the example. Bold: predicted tokens. Filled: one of them; outlined: the tokens that it "
    "depends on. Dashed: the token before it, where the model predicts it and from where distances count. Faint lines: "
    "all other dependencies."
)


def task_sections(systems: Iterable[SystemSummary]) -> list[dict[str, Any]]:
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


def _section(label: str, system: SystemSummary, shown: TokenSequence | None, full: bool) -> dict[str, Any]:
    task, stored = system.known_task, system.task
    known = task is not None or stored is not None
    summary = task.summary if task is not None else stored.summary if stored is not None else ""
    note = f"An example of length {shown.length}:" if shown else "" if known else NOT_STORED
    structure = None if stored is None else stored.structure
    if task is not None and full:
        structure = tested_structure(task, system.experiment.get("evaluation", {}).get("lengths") or [])
    return {
        "task": label,
        "summary": summary,
        "note": note,
        "length": shown.length if shown else 0,
        "tokens": shown.tokens if shown else (),
        "structure": structure if full else None,
        "figure": _dependencies(label, shown.title, shown.length, shown.tokens) if shown and full else None,
        "caption": CAPTION,
    }


@lru_cache(maxsize=64)  # recipes of the same task show the same example
def _dependencies(label: str, *shown: Any) -> Picture:
    return Picture(f"{label}-dependencies", draw_dependencies(TokenSequence(*shown)))


def _example(system: SystemSummary) -> TokenSequence | None:
    task = system.known_task
    if task is not None:
        return short_example(task)
    return None if system.task is None else system.task.example


def against_theory(systems: Iterable[SystemSummary]) -> list[str]:
    """Where theory and measurement point in different directions, both in words; tasks of unknown files are left out.

    Of the longest tests, the layout with the fewest right strings counts.
    """
    found = []
    predicted: dict[tuple[str, PositionSystem], Verdict | None] = {}
    for system in systems:
        last = hardest(system)
        task = system.known_task
        if task is None or last is None or last[1] <= system.max_length:
            continue
        position_system = system.positions
        asked = repr(system.experiment["task"]), position_system
        if asked not in predicted:
            try:
                predicted[asked] = next(iter(predict_task(task, (position_system,)).verdicts), None)
            except LengthwiseError:
                predicted[asked] = None
        verdict = predicted[asked]
        if verdict is not None:
            text = contradiction(system.label, verdict.answer, verdict.why, *last)
            found += [text] if text else []
    return found


MOST_LETTERS = 90
"""A longer text in a cell is cut; the file has it whole."""


def study_section(values: dict[str, Any], anchor: str, where: str) -> dict[str, Any]:
    """The section of a study's file; raises `LengthwiseError` that names ``where`` if it is damaged."""
    result = StudyResult.of(values, where)
    columns = tuple(dict.fromkeys(str(key) for row in result.rows for key in row))
    known = ("preset", "seed", "commit", "time", "note")
    return {
        "title": result.study,
        "anchor": anchor,
        "setting": ", ".join(f"{key} {values[key]}" for key in known if values.get(key) is not None) + ".",
        "columns": columns,
        "rows": [[_text(row.get(column)) for column in columns] for row in result.rows],
    }


def _text(value: Any) -> str:
    """A value on one line: numbers with four digits, entries of objects as ``key: value``."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        whole = ", ".join(f"{key}: {_text(part)}" for key, part in value.items())
    elif isinstance(value, list):
        whole = ", ".join(_text(part) for part in value)
    else:
        whole = str(value)
    return whole if len(whole) <= MOST_LETTERS else whole[: MOST_LETTERS - 1] + "…"


ERROR_KINDS = {"token": "token", "id": "position id", "both": "token and id", "eos": "end of sequence"}
"""Kinds of a first error, in the order in which they are drawn."""
ERROR_COLOURS = {"token": "c1", "id": "c0", "both": "c3", "eos": "c4"}
"""CSS variables of the kinds."""


def _with_task(section: Mapping[str, Any]) -> str:
    tasks = [task["task"] for task in section["tasks"]]
    name = section["title"]
    return name if len(tasks) != 1 or tasks[0] == name else f"{name} ({tasks[0]})"


@dataclass(frozen=True)
class ResultsPage:
    """All sections of a page, as the template takes them."""

    results: Sequence[SeedResult]
    sections: Sequence[dict[str, Any]]
    influences: Sequence[dict[str, Any]]
    studies: Sequence[dict[str, Any]] = ()

    @classmethod
    def of(
        cls,
        results: Sequence[SeedResult],
        influences: Sequence[InfluenceResult] = (),
        *,
        all_figures: bool = True,
        lost: Lost = (),
    ) -> ResultsPage:
        """The report of these results, with a section per recipe and per measurement of influential tokens.

        Without ``all_figures``, sections beyond the first have one while their systems are `MOST_DRAWN` at most.
        """
        recipes: dict[str, list[SystemSummary]] = {}
        for system in summarize(results, lost):
            recipes.setdefault(system.recipe, []).append(system)
        titles = recipe_titles(one for some in recipes.values() for one in some)
        sections, drawn = [], 0
        for index, (recipe, systems) in enumerate(recipes.items()):
            drawn += len(systems)
            draws = all_figures or index == 0 or drawn <= MOST_DRAWN
            sections.append(_run_section(titles[recipe], systems, f"section-{index}", draws=draws))
        return cls(
            results,
            sections,
            [influence_section(result, f"influence-{index}") for index, result in enumerate(influences)],
        )

    @property
    def files(self) -> int:
        """Number of results."""
        return len(self.results) + len(self.influences) + len(self.studies)

    @property
    def pictures(self) -> list[Picture]:
        """The figures of all sections."""
        found = [[s["figure"], *(task["figure"] for task in s["tasks"])] for s in self.sections]
        found += [[s[name] for name in ("masks", "recovered", "scatter", "spans")] for s in self.influences]
        return [picture for pictures in found for picture in pictures if picture]

    def html(self) -> str:
        """The page as HTML text."""
        titles = [_with_task(section) for section in self.sections]
        titles += [section["title"] for section in (*self.influences, *self.studies)]
        return render_page(
            "page.html",
            title=", ".join(titles) if len(titles) < 4 else f"{len(titles)} results",
            sections=self.sections,
            influences=self.influences,
            studies=list(self.studies),
            files=self.files,
            runs=sorted(self.results, key=lambda result: (result.recipe, result.system, result.seed)),
            interval=brackets_text(len(system.fitted) for section in self.sections for system in section["systems"]),
            kinds=ERROR_KINDS,
            kind_colours=ERROR_COLOURS,
        )


def read_report(folders: Sequence[Path], *, all_figures: bool = False, lost: Lost = ()) -> ResultsPage:
    """The report of all results in and under ``folders``; raises `LengthwiseError` if none exist or one is damaged."""
    others: list[tuple[Path, Any]] = []

    def trained() -> Iterator[tuple[Path, Any]]:
        for path, values in contents(folders, ("result.json", "study.json")):
            if kind_of(values) is None:
                yield path, values
            else:
                others.append((path, values))

    results = runs(trained())
    influences = [
        InfluenceResult.of(values, where=f"result file {path}") for path, values in others if kind_of(values) == KIND
    ]
    studies = [
        study_section(values, f"study-{index}", f"study result {path}")
        for index, (path, values) in enumerate(others)
        if kind_of(values) == "study"
    ]
    if not results and not influences and not studies:
        raise LengthwiseError(
            f"no results of runs in or under {', '.join(map(str, folders))}; `lengthwise run` makes some"
        )
    return replace(ResultsPage.of(results, influences, all_figures=all_figures, lost=lost), studies=studies)


@collector_paused()
def write_report(folders: Sequence[Path], target: Path, figures: Path | None = None, *, lost: Lost = ()) -> int:
    """Write the page to ``target`` and its figures into the folder ``figures``; returns the number of results.

    Raises `LengthwiseError` as `read_report` does, and if a file can't be written.
    """
    if named_file(target).is_dir():
        raise LengthwiseError(f"cannot write {target}: it is a folder; name a file with -o")
    report = read_report(folders, all_figures=figures is not None, lost=lost)
    write_text(target, report.html())
    if figures is not None:
        write_pictures(report.pictures, figures)
    return report.files


def render(results: Sequence[SeedResult], influences: Sequence[InfluenceResult] = ()) -> str:
    """The page of these results as HTML text."""
    return ResultsPage.of(results, influences).html()


def _run_section(recipe: str, systems: Sequence[SystemSummary], anchor: str, *, draws: bool) -> dict[str, Any]:
    wide, narrow = (draw_accuracy(systems), draw_accuracy(systems, NARROW)) if draws else (None, None)
    return {
        "title": recipe or "results",
        "finding": headline(systems),
        "answer": answer_rows(systems, len(systems), page=True),
        "against": against_theory(systems),
        "anchor": anchor,
        "setting": f"{len(systems)} system{'s' if len(systems) != 1 else ''}, {trained_text(systems)}.",
        "systems": systems,
        "tasks": task_sections(systems),
        "fitted": fitted_text(systems),
        "seeds": seeds_text(systems),
        "figure": Picture(f"{recipe}-accuracy", wide, narrow) if wide else None,
        "draws": draws,
        "fitted_any": any(system.fitted for system in systems),
        "panels": [_table(panel, systems) for panel in panels(systems)],
        "settings": differing_settings(systems),
    }


def _table(panel: Panel, systems: Sequence[SystemSummary]) -> dict[str, Any]:
    lengths = panel.lengths
    rows = []
    for index in panel.systems:
        found = {cell.length: cell for cell in panel.cells.get(index, ())}
        rows.append({"system": systems[index], "cells": [_cell(found.get(length)) for length in lengths]})
    line = [common_chance([systems[i] for i in panel.systems], length, panel.axes) for length in lengths]
    return {
        "title": panel.title,
        "lengths": lengths,
        "rows": rows,
        "wrong": any(cell["errors"] for row in rows for cell in row["cells"] if cell),
        "chance": line if any(line) else [],
        "chance_of": chance_of([systems[i] for i in panel.systems]),
    }


def _cell(cell: Cell | None) -> Mapping[str, Any] | None:
    if cell is None:
        return None
    others = {"answer": "answer", "oracle_ids": "ceiling", "exact_match_ids": "with ids"}
    predicted = all("exact_match_ids" in score.correct for score in cell.scores)
    main, strings = cell.estimate(), sum(score.n for score in cell.scores)
    metrics = {label: cell.estimate(metric) for metric, label in others.items() if predicted or metric == "answer"}
    return {
        "main": main,
        "errors": {kind: cell.first_errors[kind] / strings for kind in ERROR_KINDS if cell.first_errors[kind]},
        # Metrics equal to the main one are left out.
        "others": {label: e for label, e in metrics.items() if e and main and abs(e.median - main.median) >= 0.0005},
    }
