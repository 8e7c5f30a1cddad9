"""`trace` runs a program on one word and tabulates the value of each operation (row) at each position (column)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lengthwise.core.vocab import BOS, EOS
from lengthwise.crasp.program.operations import Count
from lengthwise.crasp.program.program import Program
from lengthwise.crasp.run.interpreter import encode, evaluate_all
from lengthwise.crasp.run.reference import Value
from lengthwise.crasp.syntax.printer import expressions, statements


@dataclass(frozen=True)
class TraceRow:
    """One operation: its name, ``accept`` or ``NEXT a`` (or None), its expression, its value per position."""

    head: str | None
    text: str
    values: tuple[Value, ...]

    def cells(self) -> list[str]:
        """The row as text; a true Boolean is ``✓``, a false one ``·``."""
        label = self.text if self.head is None else f"{self.head} := {self.text}"
        return [label, *(("·", "✓")[value] if isinstance(value, bool) else str(value) for value in self.values)]


@dataclass(frozen=True)
class Trace:
    """``columns`` holds the symbols at the positions 1..P, end marks included.

    ``accepted`` is None for a next-token program.
    """

    columns: tuple[str, ...]
    rows: tuple[TraceRow, ...]
    accepted: bool | None

    def __str__(self) -> str:
        from tabulate import tabulate

        table = [
            ["i", *map(str, range(1, len(self.columns) + 1))],
            ["symbol", *self.columns],
            *(row.cells() for row in self.rows),
        ]
        align = ["left", *["right"] * len(self.columns)]
        return tabulate(table, tablefmt="plain", colalign=align, disable_numparse=True)


def trace(program: Program, word: Sequence[str], *, every: bool = False) -> Trace:
    """Run ``program`` on one word; keep definitions, outputs and countings, or with ``every`` all operations.

    Raises `LengthwiseError` for symbols outside the alphabet.
    """
    values = [row[0].tolist() for row in evaluate_all(program, encode(program, [word]))]
    heads = {statement.index: statement for statement in statements(program)}
    rows: list[TraceRow] = []
    for index, text in enumerate(expressions(program)):
        statement = heads.get(index)
        if statement is not None and statement.head != f"_{index}":
            rows.append(TraceRow(statement.head, text, tuple(values[index])))
        elif every or statement is not None or isinstance(program.operations[index], Count):
            rows.append(TraceRow(None, text, tuple(values[index])))
    columns = (*([BOS] if program.bos else []), *word, *([EOS] if program.eos else []))
    return Trace(columns, tuple(rows), None if program.accept is None else bool(values[program.accept][-1]))
