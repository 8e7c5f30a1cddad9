"""Builds ``table.json``, the page and the confusion counts of the recipe ``huang`` from its result files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import write_json, write_text
from lengthwise.experiments.agreement import Agreement
from lengthwise.experiments.recipes.huang_table import build_table, summary
from lengthwise.report.pages import agreement_page

TITLE = "Theory and measurement: 8 algorithmic tasks and 17 formal languages, after Huang et al. 2025"
SEARCHED = (
    "Compatible after a search on these 25 tasks: the settings were changed while results of these cells were seen, "
    "and the verdict chooses among them. This table is no test of theory; docs/results/huang.md says what it can show."
)


def rebuild(folders: Sequence[Path], out: Path) -> tuple[list[Agreement], dict[str, int]]:
    """Write ``out/table.json`` and ``out/report.html`` from the results in and under ``folders``.

    Returns the rows and the confusion counts. Raises `LengthwiseError` where a folder is missing or a result
    damaged, and where there is none.
    """
    for folder in folders:
        if not folder.is_dir():
            raise LengthwiseError(f"no folder {folder}; make results with `lengthwise run huang --preset standard`")
    rows = build_table(folders)
    if all(row["status"] == "not run" for row in rows):
        named = ", ".join(map(str, folders))
        raise LengthwiseError(f"no results of recipe huang in {named}; make some with `lengthwise run huang`")
    write_json(out / "table.json", rows)
    counts = summary(rows)
    write_text(out / "report.html", agreement_page(rows, counts, TITLE, [SEARCHED]))
    return rows, counts
