"""How a comparison looks in a terminal: the ranked table, what is missing, and the best setting to copy."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from lengthwise.experiments.events import Event
    from lengthwise.workflows.compare import ComparisonRun

QUIET_SECONDS = 15.0
"""The longest time between two lines while something is at work."""


class ComparisonProgress:
    """Prints a line for each finished seed, and one now and then on what is at work."""

    def __init__(self, console: Console) -> None:
        self._console, self._said = console, time.monotonic()

    def __call__(self, event: Event) -> None:
        """Show one event."""
        if event.ended:
            state = "fitted" if event.fitted else "not fitted"
            self._say(f"{event.job}, seed {event.seed}: {state}, in distribution {event.number:.3f}")
        elif time.monotonic() - self._said >= QUIET_SECONDS:
            what = "timing one step" if event.phase == "time" else event.phase
            self._say(f"{event.job}, seed {event.seed}, {what} {event.done} of {event.total}")

    def _say(self, line: str) -> None:
        self._console.print(line, soft_wrap=True)
        self._said = time.monotonic()


def draw(console: Console, comparison: ComparisonRun) -> None:
    """The table of `comparison_table`, notes below it, and where the picture is."""
    from rich.text import Text

    from lengthwise.report.pages import command_of, comparison_table, notes_of

    values = comparison.values
    table = comparison_table(values)
    console.print(Text(table.caption, style="bold"), soft_wrap=True)
    console.print()
    # The setting of the best system is shown below; the others are in comparison.json.
    _rows(console, table.columns[:-1], tuple(row[:-1] for row in table.rows))
    console.print()
    for note in notes_of(values):
        console.print(Text(note, style="dim"), soft_wrap=True)
    best = next((row for row in values["systems"] if row["fitted"]), None)
    if best is not None:
        console.print(Text.assemble(("setting to copy: ", "bold"), command_of(best["copy"])), soft_wrap=True)
    console.print(Text(f"page: {comparison.page}; all numbers are beside it", style="dim"), soft_wrap=True)


def _rows(console: Console, columns: tuple[str, ...], rows: tuple[tuple[Any, ...], ...]) -> None:
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, column in enumerate(columns):
        shown.add_column(column, no_wrap=index in (0, 1, 2, 6))
    for row in rows:
        shown.add_row(*[Text("–" if cell is None else str(cell), style="bold" if not i else "") for i, cell in
                        enumerate(row)])  # fmt: skip
    console.print(shown)
