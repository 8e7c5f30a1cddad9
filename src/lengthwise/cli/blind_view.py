"""How the table of a blind study looks in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

OUTCOME = {True: Text("right", style="green"), False: Text("wrong", style="red"), None: Text("undecided", style="dim")}


def draw_table(console: Console, values: Mapping[str, Any]) -> None:
    """One line per cell, then our predictor beside its rivals, then the headline."""
    from lengthwise.report.blind.page import headline, predictors

    draw_cells(console, values["cells"])
    heads, lines = predictors(values)
    _draw(console, heads, lines)
    console.print(Text(headline(values)))


def draw_cells(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """One line per cell: predicted, which rung speaks, fitted seeds, every bin, and whether they agree."""
    from lengthwise.report.blind.page import CELL_HEADS, cell

    _draw(console, CELL_HEADS, [[*cell(row)[:-1], OUTCOME[row["right"]]] for row in rows])


def _draw(console: Console, heads: Sequence[str], lines: Sequence[Sequence[Any]]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for head in heads:
        table.add_column(head)
    for line in lines:
        # `Text`, so that brackets in an expression are not read as markup.
        table.add_row(*(value if isinstance(value, Text) else Text(str(value)) for value in line))
    console.print(table)
