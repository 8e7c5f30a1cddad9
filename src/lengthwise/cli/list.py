"""The command ``lengthwise list`` lists tasks, schemes, encodings and recipes."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from lengthwise.cli.console import emit_json, out
from lengthwise.cli.options import AsJson
from lengthwise.core.errors import UnknownNameError


def list_(
    kind: Annotated[str | None, typer.Argument(help="tasks, schemes, encodings or recipes.")] = None,
    as_json: AsJson = False,
) -> None:
    """List tasks, position schemes, position encodings and recipes."""
    from lengthwise.workflows.catalogue import catalogue

    found = catalogue()
    if kind is not None and kind not in found:
        raise UnknownNameError("kind", kind, found)
    chosen = {name: entries for name, entries in found.items() if kind in (None, name)}
    if as_json:
        emit_json(chosen)
    else:
        _print(chosen)


def _print(catalogue: dict[str, list[dict[str, Any]]]) -> None:
    from rich.table import Table
    from rich.text import Text

    width = max((len(entry["name"]) for entries in catalogue.values() for entry in entries), default=0)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, min_width=width + 2)
    table.add_column(ratio=1)
    for index, (kind, entries) in enumerate(catalogue.items()):
        if index:
            table.add_row()
        table.add_row(Text(kind, style="bold"))
        for entry in entries:
            line = Text(entry["summary"] + (f"  ({entry['from']})" if "from" in entry else ""))
            settings = "  ".join(f"{key}={_value(value)}" for key, value in entry.get("settings", {}).items())
            if settings:
                line.append("\n" + settings, style="dim")
            table.add_row(Text("  " + entry["name"], style="cyan"), line)
    out().print(table)


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    # A whole rule or task as a default would bury the list; --json has it.
    return text if len(text) <= 48 else f"{text[:45]}…"
