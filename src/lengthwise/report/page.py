"""Builds the report page: it reads result files, prepares sections, and renders one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import write_text
from lengthwise.report.chance import common_chance
from lengthwise.report.figures.accuracy_figure import draw_accuracy
from lengthwise.report.figures.style import NARROW
from lengthwise.report.findings import Finding, findings, fitted_text
from lengthwise.report.html import render_page
from lengthwise.report.influence.influence_page import InfluenceSection, influence_section
from lengthwise.report.influence.influence_result import KIND, InfluenceResult
from lengthwise.report.panels import Panel, panels
from lengthwise.report.pictures import Picture, write_pictures
from lengthwise.report.rank_correlation import RankCorrelation, rank_correlations
from lengthwise.report.result import SeedResult, contents, kind_of, runs
from lengthwise.report.study_section import StudySection, study_section
from lengthwise.report.summary import INTERVAL, Cell, SystemSummary, differing_settings, summarize
from lengthwise.report.task_section import TaskSection, task_sections

ERROR_KINDS = {"token": "token", "id": "position id", "both": "token and id", "eos": "end of sequence"}
"""Kinds of a first error, in the order in which they are drawn."""
ERROR_COLOURS = {"token": "c1", "id": "c0", "both": "c3", "eos": "c4"}
"""CSS variables of the kinds."""


@dataclass(frozen=True)
class Section:
    """The part of the page on one recipe."""

    title: str
    anchor: str
    setting: str
    systems: tuple[SystemSummary, ...]
    tasks: tuple[TaskSection, ...]
    fitted: str
    findings: tuple[Finding, ...]
    figure: Picture | None
    panels: tuple[dict[str, Any], ...]
    settings: tuple[dict[str, Any], ...]
    ranks: tuple[RankCorrelation, ...]

    @property
    def pictures(self) -> list[Picture]:
        """All figures of the section."""
        return [picture for picture in (self.figure, *(task.figure for task in self.tasks)) if picture]


@dataclass(frozen=True)
class ResultsPage:
    """All sections of a page."""

    results: tuple[SeedResult, ...]
    sections: tuple[Section, ...]
    influences: tuple[InfluenceSection, ...]
    studies: tuple[StudySection, ...] = ()

    @classmethod
    def of(cls, results: Sequence[SeedResult], influences: Sequence[InfluenceResult] = ()) -> ResultsPage:
        """The report of these results, with a section per recipe and per measurement of influential tokens."""
        systems = summarize(results)
        recipes = list(dict.fromkeys(system.recipe for system in systems))
        return cls(
            tuple(results),
            tuple(
                _section(recipe, [system for system in systems if system.recipe == recipe], f"section-{index}")
                for index, recipe in enumerate(recipes)
            ),
            tuple(influence_section(result, f"influence-{index}") for index, result in enumerate(influences)),
        )

    @property
    def files(self) -> int:
        """Number of results."""
        return len(self.results) + len(self.influences) + len(self.studies)

    @property
    def pictures(self) -> list[Picture]:
        """The figures of all sections."""
        return [
            picture for section in (*self.sections, *self.influences, *self.studies) for picture in section.pictures
        ]

    def html(self) -> str:
        """The page as HTML text."""
        titles = [section.title for section in (*self.sections, *self.influences, *self.studies)]
        return render_page(
            "page.html",
            title=", ".join(titles) if len(titles) < 4 else f"{len(titles)} results",
            sections=self.sections,
            influences=self.influences,
            studies=self.studies,
            files=self.files,
            runs=sorted(self.results, key=lambda result: (result.recipe, result.system, result.seed)),
            interval=INTERVAL,
            kinds=ERROR_KINDS,
            kind_colours=ERROR_COLOURS,
        )


def read_report(folders: Sequence[Path]) -> ResultsPage:
    """The report of all results in and under ``folders``; raises `LengthwiseError` if none exist or one is damaged."""
    found = contents(folders, ("result.json", "study.json"))
    results = runs((path, values) for path, values in found if kind_of(values) is None)
    influences = [
        InfluenceResult.of(values, where=f"result file {path}") for path, values in found if kind_of(values) == KIND
    ]
    studies = [
        study_section(values, f"study-{index}", f"study result {path}")
        for index, (path, values) in enumerate(found)
        if kind_of(values) == "study"
    ]
    if not results and not influences and not studies:
        raise LengthwiseError(
            f"no results of runs in or under {', '.join(map(str, folders))}; `lengthwise run` makes some"
        )
    return replace(ResultsPage.of(results, influences), studies=tuple(studies))


def write_report(folders: Sequence[Path], target: Path, figures: Path | None = None) -> int:
    """Write the page to ``target`` and its figures into the folder ``figures``; returns the number of results.

    Raises `LengthwiseError` as `read_report` does, and if a file can't be written.
    """
    report = read_report(folders)
    if target.is_dir():
        raise LengthwiseError(f"cannot write {target}: it is a folder; name a file with -o")
    write_text(target, report.html())
    if figures is not None:
        write_pictures(report.pictures, figures)
    return report.files


def render(results: Sequence[SeedResult], influences: Sequence[InfluenceResult] = ()) -> str:
    """The page of these results as HTML text."""
    return ResultsPage.of(results, influences).html()


def page(folders: Sequence[Path]) -> str:
    """The page of all results in and under ``folders`` as HTML text; raises `LengthwiseError` as `read_report` does."""
    return read_report(folders).html()


def _section(recipe: str, systems: Sequence[SystemSummary], anchor: str) -> Section:
    lengths = ", ".join(str(length) for length in sorted({system.max_length for system in systems}))
    wide, narrow = draw_accuracy(systems), draw_accuracy(systems, NARROW)
    return Section(
        title=recipe or "results",
        anchor=anchor,
        setting=f"{len(systems)} system{'s' if len(systems) != 1 else ''}, trained on lengths up to {lengths}.",
        systems=tuple(systems),
        tasks=tuple(task_sections(systems)),
        fitted=fitted_text(systems),
        findings=tuple(findings(systems)),
        figure=Picture(f"{recipe}-accuracy", wide, narrow) if wide else None,
        panels=tuple(_table(panel, systems) for panel in panels(systems)),
        settings=tuple(differing_settings(systems)),
        ranks=tuple(rank_correlations(systems)),
    )


def _table(panel: Panel, systems: Sequence[SystemSummary]) -> dict[str, Any]:
    """The numbers of a panel: a row per system, a column per length."""
    lengths = panel.lengths
    rows = []
    for index in panel.systems:
        found = {cell.length: cell for cell in panel.cells.get(index, ())}
        rows.append({"system": systems[index], "cells": [_cell(found.get(length)) for length in lengths]})
    line = [common_chance([systems[i].experiment for i in panel.systems], length, panel.axes) for length in lengths]
    return {
        "title": panel.title,
        "lengths": lengths,
        "rows": rows,
        "wrong": any(cell["errors"] for row in rows for cell in row["cells"] if cell),
        "chance": line if any(line) else [],
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
