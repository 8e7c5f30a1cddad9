"""Draws influential tokens in the terminal: a progress bar, and a table of R_k by selection rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from lengthwise.cli.console import plain_table
from lengthwise.experiments.events import Report
from lengthwise.report.influence import InfluenceResult, RecoveredCell, findings, too_small

NAME_WIDTH, CELL_WIDTH = 21, 17
"""Columns of a row of the table with intervals."""
SHORT = {"cross": "greedy, other model", "null": "null: other text", "beyond_null": "greedy beyond null"}


@contextmanager
def progress_bar(console: Console) -> Iterator[Report]:
    """A bar with the time left; a line for each part where the console is not a terminal."""
    progress = Progress(
        TextColumn("{task.description}", markup=False), BarColumn(bar_width=24), TaskProgressColumn(),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), console=console, transient=True,
        disable=not console.is_terminal,
    )  # fmt: skip
    shown = progress.add_task("", total=None)
    present = said = ""

    def report(what: str, done: int, total: int, number: float = 0.0, /) -> None:
        nonlocal present, said
        if what != present:
            present = what
            progress.reset(shown, description=what, total=total, completed=done)
        elif what != said and not console.is_terminal:
            # Only of parts that take a while: a mistake that shows at once stays one line.
            said = what
            console.print(Text(what))
        progress.update(shown, completed=done, total=total)

    with progress:
        yield report


def draw_influence(console: Console, values: dict[str, Any]) -> None:
    """The setting, R_k by rule and k with its interval, and what follows."""
    result = InfluenceResult.of(values)
    documents = len({target["document"] for target in values["targets"]})
    head = Text(result.model, style="bold")
    head.append(f"  {len(result.long)} targets in {documents} documents of {result.corpus}; ", style="dim")
    head.append(f"context {result.context}, recent {result.recent}, block {result.block}", style="dim")
    console.print(head)
    console.print()
    table = plain_table("gain recovered by", *[f"k = {k}" for k in result.ks], no_wrap=True)
    intervals = console.width >= NAME_WIDTH + CELL_WIDTH * len(result.ks)
    for name, row in result.cells.items():
        cells = [_cell(row.get(k), intervals) for k in result.ks]
        table.add_row(Text(SHORT.get(name, name), style="bold"), *cells)
    if too_small(result):
        # Fractions of next to nothing would look like a result.
        table = Text("the gain is too small to say which share of it a few tokens recover", style="yellow")
    console.print(table)
    if not intervals and not too_small(result):
        console.print(Text("95 % intervals: in a wider window, and in report.html", style="dim"))
    console.print()
    for sentence in findings(result):
        console.print(Text.assemble((sentence.name, "bold"), " ", sentence.text))


def _cell(cell: RecoveredCell | None, interval: bool) -> Text:
    if cell is None or cell.recovered is None:
        return Text("–")
    text = Text(f"{cell.recovered:.2f}")
    if interval and cell.interval is not None:
        text.append(" " + "–".join(map(_bare, cell.interval)), style="dim")
    return text


def _bare(value: float) -> str:
    """``.79`` for 0.79: five columns have to fit into 100 characters."""
    return re.sub(r"^(-?)0\.", r"\1.", f"{value:.2f}")
