"""How a comparison looks in a terminal: the ranked table, what is missing, and the best setting to copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from lengthwise.workflows.compare import Comparison


def draw(console: Console, comparison: Comparison) -> None:
    """The table of `comparison_table`, notes below it, and where the picture is."""
    from rich.text import Text

    from lengthwise.report.comparison.table import comparison_table, notes_of

    values = comparison.values
    table = comparison_table(values)
    console.print(Text(table.caption, style="bold"), soft_wrap=True)
    console.print()
    _rows(console, table.columns, table.rows)
    console.print()
    for note in notes_of(values):
        console.print(Text(note, style="dim"), soft_wrap=True)
    best = next((row for row in values["systems"] if row["fitted"]), None)
    if best is not None:
        console.print(Text.assemble(("setting to copy: ", "bold"), command_of(best["copy"])), soft_wrap=True)
    console.print(Text(f"picture and all numbers: {comparison.folder}", style="dim"), soft_wrap=True)


def _rows(console: Console, columns: tuple[str, ...], rows: tuple[tuple[Any, ...], ...]) -> None:
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, column in enumerate(columns):
        shown.add_column(column, no_wrap=index == 0)
    for row in rows:
        shown.add_row(*[Text("–" if cell is None else str(cell), style="bold" if not i else "") for i, cell in
                        enumerate(row)])  # fmt: skip
    console.print(shown)


def command_of(copy: dict[str, Any]) -> str:
    """Python that trains the system again."""
    options = ", ".join(f"{key}={value!r}" for key, value in copy.items() if key != "task")
    return f"lw.Experiment({copy['task']!r}, {options})"
