"""The command ``lengthwise show`` prints an example of a task token by token, and its structure by length."""

from __future__ import annotations

from typing import Annotated

import typer

from lengthwise.cli.console import emit_json, out
from lengthwise.cli.options import AsJson, whole_numbers


def show(
    task: Annotated[str, typer.Argument(help="A task by name, or path/to/file.py:Class (runs that file).")],
    length: Annotated[int, typer.Option("--length", "-n", help="The problem's length.")] = 5,
    scheme: Annotated[str, typer.Option("--scheme", help="Position scheme that gives the ids.")] = "coupled",
    seed: Annotated[int, typer.Option("--seed", help="Which example.")] = 0,
    edits: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A field of the task, or scheme.FIELD.")
    ] = None,
    lengths: Annotated[
        str | None, typer.Option("--lengths", metavar="N,N,…", help="Lengths for sparsity and span.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Explain every token of a long example.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show one example: tokens, places, ids, and which tokens each predicted one depends on."""
    from lengthwise.prediction.example import configured, example, structure_table

    built_task, built_scheme = configured(task, scheme, edits or [])
    shown = example(built_task, built_scheme, length, seed)
    table = structure_table(built_task, whole_numbers("--lengths", lengths), seed, built_scheme)
    if as_json:
        emit_json({**shown.to_json(), "structure": table.to_json()})
        return
    from lengthwise.cli.example_view import draw_example, draw_structure

    console = out()
    draw_example(console, shown, everything=everything)
    draw_structure(console, table, built_scheme.name)
