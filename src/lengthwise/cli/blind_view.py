"""How the table of a blind study looks in a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from lengthwise.cli.console import plain_table

OTHERS = 70
"""Columns of a terminal that the table needs beside a language's name."""
OUTCOME = {True: Text("right", style="green"), False: Text("wrong", style="red"), None: Text("undecided", style="dim")}


def draw_table(console: Console, values: Mapping[str, Any]) -> None:
    """One line per cell, then our predictor beside its rivals, then the headline."""
    from lengthwise.report.pages import headline, predictors

    draw_cells(console, values["cells"])
    _, lines = predictors(values)
    # The interval (column 4) and the probability over languages (the last column) are on the page.
    heads = ("predictor", "cells", "right", "balanced", "AUC", "ours only", "it only", "p")
    _draw(console, heads, [[*line[:4], *line[5:-1]] for line in lines])
    console.print(Text("ours only, it only: cells that one of the two gets right; p of the exact McNemar test"))
    console.print(Text(headline(values)))


def draw_cells(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """One line per cell: predicted, which rung speaks, fitted seeds, every bin, and whether they agree.

    A bin shows the lowest and the highest of the fitted seeds, or of all where the cell is not fitted.
    """
    from lengthwise.report.pages import BINS

    heads = ("language", "ids", "predicted", "rung", "fitted", *BINS, "prediction")
    widest = max(console.width - OTHERS, 8)
    _draw(console, heads, [_cell(row, BINS, widest) for row in rows])
    console.print(Text("a bin: lowest to highest of the seeds; each seed is in --json and in the report"))


def _cell(row: Mapping[str, Any], bins: Sequence[str], widest: int) -> list[Any]:
    seeds = [seed for seed in row["seeds"] if seed["fitted"] or row["status"] != "decided"]
    numbers = []
    for name in bins:
        found = [[words["rate"] for words in seed["sets"].get(name, {}).values()] for seed in seeds]
        numbers.append(_range([min(rates) for rates in found if rates]))
    name = row["language"]
    fitted = f"{row['fitted']} of {len(row['seeds'])}" if row["seeds"] else "not run"
    return [
        name if len(name) <= widest else name[: widest - 1] + "…",
        row["encoding"],
        row["predicted"],
        row["rung"] or "–",
        fitted,
        *numbers,
        OUTCOME[row["right"]],
    ]


def _range(rates: Sequence[float]) -> str:
    if not rates:
        return "–"
    low, high = f"{min(rates):.2f}", f"{max(rates):.2f}"
    return low if low == high else f"{low}–{high}"


def step_lines(note: Callable[[str], None], seconds: float = 15.0) -> Callable[[int, float], None]:
    """A callback for training steps that writes a line at most every ``seconds`` seconds."""
    last = time.monotonic()

    def on_step(step: int, loss: float) -> None:
        nonlocal last
        if time.monotonic() - last >= seconds:
            last = time.monotonic()
            note(f"  step {step:,}, loss {loss:.4f}")

    return on_step


def _draw(console: Console, heads: Sequence[str], lines: Sequence[Sequence[Any]]) -> None:
    table = plain_table(*heads, gap=1, no_wrap=True)
    for line in lines:
        # `Text`, so that brackets in an expression are not read as markup.
        table.add_row(*(value if isinstance(value, Text) else Text(str(value)) for value in line))
    console.print(table)
