"""Renders the page that compares verdicts with measurements: figure, confusion counts and the table of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lengthwise.report.figures.agreement_figure import bins_of, draw_agreement
from lengthwise.report.figures.style import NARROW
from lengthwise.report.html import render_page
from lengthwise.report.pictures import Picture

OUTCOMES = {True: "right", False: "wrong", None: "open"}


def agreement_page(
    rows: Sequence[Mapping[str, Any]], counts: Mapping[str, int], title: str, notes: Sequence[str] = ()
) -> str:
    """The page of the rows and confusion counts of `lengthwise.experiments.agreement`, as HTML text."""
    bins = bins_of(rows)
    parts = [part for part in ("published", "standard") if any(part in row for row in rows)]
    return render_page(
        "agreement.html",
        title=title,
        notes=notes,
        rows=rows,
        counts=counts,
        wrong=[row for row in rows if row["right"] is False],
        decided=sum(row["right"] is not None for row in rows),
        outcomes=OUTCOMES,
        bins=bins,
        parts=parts,
        figure=Picture("agreement", draw_agreement(rows), draw_agreement(rows, NARROW)) if rows else None,
    )
