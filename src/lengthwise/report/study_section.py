"""Prepares the section of a study: its figure, if it has one, and its rows as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.result_file import StudyResult
from lengthwise.report.figures.study_figure import STUDY_FIGURES, draw_study
from lengthwise.report.pictures import Picture

MOST_LETTERS = 90
"""A longer text in a cell is cut; the file has it whole."""


@dataclass(frozen=True)
class StudySection:
    """One study on the page."""

    title: str
    anchor: str
    setting: str
    figure: Picture | None
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def pictures(self) -> list[Picture]:
        """The figure, if there is one."""
        return [self.figure] if self.figure else []


def study_section(values: dict[str, Any], anchor: str, where: str) -> StudySection:
    """The section of a study's file; raises `LengthwiseError` that names ``where`` if it is damaged."""
    result = StudyResult.of(values, where)
    rows, name = result.rows, result.study
    try:
        figure = Picture(name, draw_study(name, rows)) if name in STUDY_FIGURES else None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise LengthwiseError(f"{where} is damaged; delete it and run again") from None
    columns = tuple(dict.fromkeys(str(key) for row in rows for key in row))
    known = ("preset", "seed", "commit", "time", "note")
    return StudySection(
        title=name,
        anchor=anchor,
        setting=", ".join(f"{key} {values[key]}" for key in known if values.get(key) is not None) + ".",
        figure=figure,
        columns=columns,
        rows=tuple(tuple(_text(row.get(column)) for column in columns) for row in rows),
    )


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
