"""Consoles and tables. Tables and JSON go to stdout, notes and progress to stderr.

Rich is imported only when something is drawn, so that ``--json`` and errors start quickly.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from lengthwise.api.progress import console as out  # noqa: F401
from lengthwise.api.progress import stderr as err
from lengthwise.core.errors import OBEYED

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def emit_json(value: Any, *, indent: int | None = 1) -> None:
    """Print one JSON value on stdout, with what a terminal obeys written as escapes; NaN is refused, it is not JSON."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


TYPED: ContextVar[Sequence[str]] = ContextVar("TYPED", default=())
"""The words of the command line."""


def again(changes: Mapping[str, Any] | None = None, settings: Mapping[str, Any] | None = None) -> str:
    """The command that was typed, with other values of these options, and of these settings of ``--set``.

    An option with None as its new value is left out.
    """
    settings = settings or {}
    new = {f"--{name}": ",".join(map(str, to)) if isinstance(to, list) else to for name, to in (changes or {}).items()}
    kept, words = list[str](), list(TYPED.get())
    while words:
        flag, equals, value = words.pop(0).partition("=")
        part = [flag + equals + value]
        if not equals and (flag in new or flag == "--set"):
            part += [value := words.pop(0)] if words else []
        if flag not in new and not (flag == "--set" and value.partition("=")[0] in settings):
            kept += part
    more = [str(word) for pair in new.items() if pair[1] is not None for word in pair]
    more += [word for name, to in settings.items() for word in ("--set", f"{name}={to}")]
    return shlex.join(["lengthwise", *kept, *more])


def say_other_names(names: Collection[str]) -> None:
    """Say on stderr what a forecast calls those of these systems that have another name."""
    from lengthwise.positions.system import other_names

    for line in other_names(names):
        err().print(line, soft_wrap=True)


def draw_answer(console: Console, rows: Mapping[str, str], table: str) -> None:
    """The rows of an answer, the finding first, and a table of the systems."""
    from lengthwise.core.table import answered

    console.print("\n".join(answered(rows)), soft_wrap=True)
    console.print(f"\n{table}\n", soft_wrap=True)


def plain_table(*headings: str, right: Collection[str] = (), gap: int = 2, no_wrap: bool = False) -> Table:
    """A table without lines under dim headings; the columns ``right`` are aligned there, ``gap`` blanks are between."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim")
    for heading in headings:
        justify = "right" if heading in right else "left"
        table.add_column(heading, justify=justify, no_wrap=no_wrap, overflow="fold")
    return table
