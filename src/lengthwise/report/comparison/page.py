"""Renders the page of a comparison: the picture, the ranked table, and the setting of every system to copy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lengthwise.prediction.shown_task.stored_task import title_of
from lengthwise.report.comparison.figure import draw_comparison
from lengthwise.report.comparison.table import command_of, comparison_table
from lengthwise.report.figures.style import NARROW
from lengthwise.report.html import render_page
from lengthwise.report.pictures import Picture


def comparison_page(values: Mapping[str, Any]) -> str:
    """The page of a ``comparison.json``, as HTML text."""
    wide, narrow = draw_comparison(values), draw_comparison(values, NARROW)
    return render_page(
        "comparison.html",
        title=f"Position systems on {title_of(values['name'])}",
        shown=comparison_table(values),
        figure=Picture("comparison", wide, narrow) if wide else None,
        commands=[(row["system"], command_of(row["copy"])) for row in values["systems"] if row["copy"] is not None],
        provenance=f"Commit {values['commit']}, {values['machine'].get('processor', 'unknown processor')}, "
        f"{values['time'][:16].replace('T', ' ')} UTC, budget {values['budget_seconds']:.0f} s.",
    )
