"""Draws verdicts and measurements in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from lengthwise.cli.console import plain_table

OUTCOME = {True: Text("yes", style="green"), False: Text("no", style="red"), None: Text("undecided", style="dim")}


def draw_rows(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """One line per cell: the verdict, fitted seeds, the median of each bin, and whether they are compatible."""
    bins = list(dict.fromkeys(name for row in rows for name in row["median"]))
    table = plain_table("task", "positions", "theory", "fitted", *bins, "test set", "compatible")
    for row in rows:
        fitted = row["status"] if row["status"] == "not run" else f"{row['fitted']} of {row['seeds']}"
        numbers = [f"{row['median'][name]:.3f}" if name in row["median"] else "–" for name in bins]
        cells = [row["task"], row["encoding"], row["predicted"], fitted, *numbers, row["test_set"]]
        # `Text`, so that brackets in a language's name are not read as markup.
        table.add_row(*(Text(str(cell)) for cell in cells), OUTCOME[row["right"]])
    console.print(table)
