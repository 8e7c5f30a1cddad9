"""The command ``lengthwise regularizer`` prints the terms of R(T) for a model or a program."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from lengthwise.cli.console import emit_json, out, plain_table
from lengthwise.cli.options import AsJson
from lengthwise.cli.threads import Threads
from lengthwise.core.errors import LengthwiseError
from lengthwise.training.threads import use_threads


def regularizer(
    model: Annotated[
        str,
        typer.Argument(
            metavar="RUN|MODEL", help="A run directory, a compiled .safetensors file, or a program to compile."
        ),
    ],
    context: Annotated[
        int | None, typer.Option("--context", help="Of a program: the finite transformer of that many positions.")
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Print the regularizer of Huang et al. 2025: every term, its value, and where it is largest."""
    use_threads(threads)
    from lengthwise.models.regularizer import regularizer_table

    table = regularizer_table(_load(model, context))
    if as_json:
        terms = [vars(term) | {"value": _finite(term.value)} for term in table.terms]
        emit_json({"terms": terms, "total": _finite(table.total)})
        return
    drawn = plain_table("no.", "term", "value", "where", right=("value",))
    for row in table.rows():
        drawn.add_row(*row)
    out().print(drawn)


def _load(name: str, context: int | None) -> Any:
    path = Path(name)
    if context is not None and (path.is_dir() or path.suffix == ".safetensors"):
        raise LengthwiseError(f"--context is for programs; {name} is a model, which has its own")
    if path.is_dir():
        from lengthwise.experiments.trained import load_trained

        return load_trained(path)[1]
    if path.suffix == ".safetensors":
        from lengthwise.models.limit import load_theory

        return load_theory(path)
    from lengthwise.cli.crasp import read_program
    from lengthwise.models.compile import compile_program
    from lengthwise.models.limit import finite_version

    limit = compile_program(read_program(name)).required()
    return limit if context is None else finite_version(limit, context)


def _finite(value: float | None) -> float | str | None:
    """JSON has no infinity."""
    return "infinite" if value is not None and math.isinf(value) else value
