"""The page of one verification: every seed, the cells, and how often such verdicts held in the blind study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lengthwise.report.blind.page import CELL_HEADS, cell, picture
from lengthwise.report.html import render_page

RULE = (
    "Trained on 1–50 symbols, five seeds per rung of the ladder of the blind study; the first rung with four fitted "
    "seeds speaks. A cell is decided on 101–150 symbols, on the lower accuracy of uniform and adversarial words: "
    "predicted yes is right if the median of the fitted seeds is at least 0.70, predicted no if it is below. No means "
    "no guarantee: no program exists. Cells that did not fit, or were not run, are neither right nor wrong."
)


def verification_page(rows: Sequence[Mapping[str, Any]], title: str, reasons: Sequence[str], cut: float = 0.70) -> str:
    """One self-contained HTML page."""
    return render_page(
        "verification.html",
        title=title,
        reasons=reasons,
        reliability=[f"{row['encoding']}: {row['reliability']}." for row in rows],
        figure=picture(rows, cut),
        cells=(CELL_HEADS, [cell(row) for row in rows]),
        rule=RULE,
    )
