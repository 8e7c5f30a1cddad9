"""Builds ``table.json``, the page and the confusion counts of the recipe ``huang`` from its result files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import write_text
from lengthwise.experiments.recipes.huang_table import summary, write_table
from lengthwise.report.figures.huang_figure import agreement_page

TITLE = "Predicted and measured: 8 algorithmic tasks and 17 formal languages, after Huang et al. 2025"


def rebuild(folders: Sequence[Path], out: Path) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Write ``out/table.json`` and ``out/report.html`` from the results in and under ``folders``.

    Returns the rows and the confusion counts. Raises `LengthwiseError` where a folder is missing or a result damaged.
    """
    for folder in folders:
        if not folder.is_dir():
            raise LengthwiseError(f"no folder {folder}; make results with `lengthwise run huang --preset standard`")
    rows = write_table(folders, out / "table.json")
    counts = summary(rows)
    write_text(out / "report.html", agreement_page(rows, counts, TITLE))
    return rows, counts
