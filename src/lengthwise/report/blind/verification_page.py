"""The page of one verification: every seed, the cells, and how often such verdicts held in the blind study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from lengthwise.report.blind.figure import blind_figure
from lengthwise.report.blind.page import PAGE_STYLE, cell_table

RULE = (
    "Trained on 1–50 symbols, five seeds per rung of the ladder of the blind study; the first rung with four fitted "
    "seeds speaks. A cell is decided on 101–150 symbols, on the lower accuracy of uniform and adversarial words: "
    "predicted yes is right if the median of the fitted seeds is at least 0.70, predicted no if it is below. No means "
    "no guarantee: no program exists. Cells that did not fit, or were not run, are neither right nor wrong."
)


def verification_page(rows: Sequence[Mapping[str, Any]], title: str, reasons: Sequence[str], cut: float = 0.70) -> str:
    """One self-contained HTML page."""
    run = [row for row in rows if row["seeds"]]
    parts = [
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{escape(reason)}</p>" for reason in reasons),
        *(f"<p>{escape(row['encoding'])}: {escape(row['reliability'])}.</p>" for row in rows),
        blind_figure(run, cut) if run else "",
        cell_table(rows),
        f"<p>{escape(RULE)}</p>",
    ]
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title><style>{PAGE_STYLE}</style>"
    return head + "<main>" + "\n".join(parts) + "</main></html>\n"
