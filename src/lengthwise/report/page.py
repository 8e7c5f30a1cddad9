"""One self-contained page from result files: no network, no scripts, every number computed from counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from lengthwise import __version__
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import write_text
from lengthwise.positions.schemes import SCHEMES
from lengthwise.report.chance import common_chance, known_task
from lengthwise.report.example import Example, StructureTable, example, structure_table
from lengthwise.report.figures.accuracy_figure import accuracy_figure
from lengthwise.report.figures.dependency_figure import MOST_TOKENS, dependency_figure
from lengthwise.report.influence.influence_page import influence_section
from lengthwise.report.influence.influence_result import KIND, InfluenceResult
from lengthwise.report.rank_correlation import RankCorrelation, rank_correlations
from lengthwise.report.result import Result, contents, kind_of, runs
from lengthwise.report.summary import (
    INTERVAL,
    Cell,
    SystemSummary,
    axes_text,
    differing_settings,
    panel_axes,
    panel_of,
    summarize,
)
from lengthwise.tasks import Task

ERROR_KINDS = {"token": "token", "id": "position id", "both": "token and id", "eos": "end of sequence"}
"""Kinds of a first error, in the order in which they are drawn."""
ERROR_COLOURS = {"token": "#d55e00", "id": "#0072b2", "both": "#cc79a7", "eos": "#e69f00"}


@dataclass(frozen=True)
class Finding:
    """What the numbers say of one system, in a sentence that begins with its name."""

    name: str
    text: str


@dataclass(frozen=True)
class Explanation:
    """Why: the structure of the task by length, and one example's dependencies."""

    task: str
    note: str = ""
    structure: StructureTable | None = None
    figure: str = ""
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """One recipe on the page."""

    recipe: str
    systems: tuple[SystemSummary, ...]
    findings: tuple[Finding, ...]
    figure: str
    panels: tuple[dict[str, Any], ...]
    explanations: tuple[Explanation, ...]
    settings: tuple[dict[str, Any], ...]
    ranks: tuple[RankCorrelation, ...] = ()


def write_report(folders: Sequence[Path], target: Path) -> int:
    """Write the page of all results in and under ``folders`` to ``target``; returns the number of results.

    Raises `LengthwiseError` when there are none, one is damaged, or ``target`` can't be written.
    """
    found = contents(folders)
    results = runs((path, values) for path, values in found if kind_of(values) is None)
    influences = [
        InfluenceResult.of(values, where=f"result file {path}") for path, values in found if kind_of(values) == KIND
    ]
    if not results and not influences:
        raise LengthwiseError(
            f"no results of runs in or under {', '.join(map(str, folders))}; `lengthwise run` makes some"
        )
    if target.is_dir():
        raise LengthwiseError(f"cannot write {target}: it is a folder; name a file with -o")
    write_text(target, render(results, influences))
    return len(results) + len(influences)


def render(results: Sequence[Result], influences: Sequence[InfluenceResult] = ()) -> str:
    """The page as HTML text."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        loader=jinja2.FunctionLoader(lambda name: files("lengthwise.report").joinpath(name).read_text("utf-8")),
    )  # fmt: skip
    environment.filters["number"] = _number
    template = environment.get_template("page.html")
    systems = summarize(results)
    recipes = list(dict.fromkeys(system.recipe for system in systems))
    shown = [influence_section(result) for result in influences]
    return template.render(
        sections=[_section(recipe, [system for system in systems if system.recipe == recipe]) for recipe in recipes],
        influences=shown,
        files=len(results) + len(influences),
        runs=sorted(results, key=lambda result: (result.recipe, result.system, result.seed)),
        interval=INTERVAL,
        kinds=ERROR_KINDS,
        kind_colours=ERROR_COLOURS,
        version=__version__,
        title=", ".join([*recipes, *(section.title for section in shown)]),
    )


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _section(recipe: str, systems: Sequence[SystemSummary]) -> Section:
    return Section(
        recipe=recipe,
        systems=tuple(systems),
        findings=tuple(findings(systems)),
        figure=accuracy_figure(systems),
        panels=tuple(_panels(systems)),
        explanations=tuple(_explanations(systems)),
        settings=tuple(differing_settings(systems)),
        ranks=tuple(rank_correlations(systems)),
    )


def findings(systems: Sequence[SystemSummary]) -> list[Finding]:
    """What the numbers say, one sentence per fitted system and one for those that did not fit."""
    found = []
    for system in systems:
        if not system.cells:
            continue
        longest = max(cell.length for cell in system.cells)
        parts = []
        for cell in system.cells:
            value = cell.estimate() if cell.length == longest else None
            if value is not None:
                axes = f" with {axes_text(cell.axes)}" if cell.axes else ""
                parts.append(f"{value.median:.3f} [{value.low:.2f}–{value.high:.2f}]{axes}")
        factor = f"{longest / system.max_length:.3g}"
        seeds = f"{len(system.fitted)} of {len(system.results)} seeds fitted"
        found.append(Finding(system.name, f"at length {longest} ({factor} × training): {', '.join(parts)}; {seeds}."))
    unfitted = [system.name for system in systems if not system.fitted]
    if unfitted:
        found.append(Finding(", ".join(unfitted), "not fitted in any seed, so nothing follows about longer lengths."))
    return found


def _panels(systems: Sequence[SystemSummary]) -> list[dict[str, Any]]:
    """The tables behind the figure: a row per system, a column per length."""
    cells = [cell for system in systems for cell in system.cells]
    keys = panel_axes(cells)
    tables = []
    for panel in dict.fromkeys(panel_of(cell.axes, keys) for cell in cells) or [()]:
        lengths = sorted({cell.length for cell in cells if panel_of(cell.axes, keys) == panel})
        rows = []
        for system in systems:
            found = {cell.length: cell for cell in system.cells if panel_of(cell.axes, keys) == panel}
            rows.append({"system": system, "cells": [_cell(found.get(length)) for length in lengths]})
        line = [common_chance([s.experiment for s in systems], length, panel) for length in lengths]
        wrong = any(cell["errors"] for row in rows for cell in row["cells"] if cell)
        tables.append(
            {
                "wrong": wrong,
                "title": axes_text(panel),
                "lengths": lengths,
                "rows": rows,
                "chance": line if any(line) else [],
            }
        )
    return tables


def _cell(cell: Cell | None) -> dict[str, Any] | None:
    if cell is None:
        return None
    others = {"answer": "answer", "oracle_ids": "ceiling", "exact_match_ids": "with ids"}
    predicted = all("exact_match_ids" in score.correct for score in cell.scores)
    wanted = others if predicted else {"answer": "answer"}
    main, strings = cell.estimate(), sum(score.n for score in cell.scores)
    metrics = {label: cell.estimate(metric) for metric, label in wanted.items()}
    return {
        "main": main,
        "errors": {kind: cell.first_errors[kind] / strings for kind in ERROR_KINDS if cell.first_errors[kind]},
        # A metric that repeats the main one says nothing.
        "others": {label: e for label, e in metrics.items() if e and main and abs(e.median - main.median) >= 0.0005},
    }


def _explanations(systems: Sequence[SystemSummary]) -> list[Explanation]:
    """One per task of the section."""
    tasks: dict[str, Mapping[str, Any]] = {}
    for system in systems:
        tasks.setdefault(repr(sorted(system.experiment["task"].items(), key=str)), system.experiment)
    return [_explanation(experiment) for experiment in tasks.values()]


def _explanation(experiment: Mapping[str, Any]) -> Explanation:
    name = str(experiment["task"]["name"])
    task = known_task(experiment)
    if task is None:
        note = (
            "This task is not part of lengthwise; its file is not run to draw a report, so its structure isn't shown."
        )
        return Explanation(name, note=note)
    picture = _example(task)
    tested = experiment.get("evaluation", {}).get("lengths") or []
    lengths = sorted({int(n) for n in tested if task.lengths(int(n), int(n))})[:6] or None
    structure = structure_table(task, lengths, 0)
    if picture is None:
        return Explanation(name, structure=structure)
    caption = (
        f"One example of length {picture.length}. Bold: predicted tokens. Filled: one of them; outlined: the tokens "
        "it depends on. Faint lines: all other dependencies."
    )
    return Explanation(name, structure=structure, figure=dependency_figure(picture), caption=caption)


def _example(task: Task) -> Example | None:
    """The example to draw: a test layout if a short one exists, else a length near 5; None if all are long."""
    lengths = task.lengths(1, 12)
    tested = [(length, layout) for length in lengths for layout in task.test_layouts(length)[:1]]
    others = [(length, None) for length in sorted(lengths, key=lambda n: abs(n - 5))]
    for length, layout in [*tested[-1:], *others]:
        shown = example(task, SCHEMES.build("coupled"), length, 0, layout)
        if shown.scored and len(shown.tokens) <= MOST_TOKENS:
            return shown
    return None
