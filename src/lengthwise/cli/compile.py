"""The command ``lengthwise crasp compile`` turns a program into weights and checks them against the interpreter."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lengthwise.cli.console import emit_json, err
from lengthwise.cli.crasp import crasp, read_program
from lengthwise.cli.options import AsJson
from lengthwise.cli.threads import Threads
from lengthwise.core.errors import require
from lengthwise.training.threads import use_threads

if TYPE_CHECKING:
    from lengthwise.models.compile import Compilation, CompilationCheck

MOST_WORDS, MOST_BITS = 100_000, 1000
MISMATCH = 1
"""Exit code when the model and the interpreter differ."""


@crasp.command("compile")
def compile_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A program file, or the name of a library program.")],
    context: Annotated[
        int | None, typer.Option("--context", help="Make the finite transformer of this many positions instead.")
    ] = None,
    target: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the weights.")] = None,
    verify: Annotated[
        int, typer.Option("--verify", help="Random words to check at each long length, besides all short ones.")
    ] = 100,
    precision: Annotated[
        int | None, typer.Option("--precision", help="Round logits and exponentials to that many fractional bits.")
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Compile a program to a Limit Transformer and compare the two at every position; exit code 1 if they differ."""
    use_threads(threads)
    require(0 <= verify <= MOST_WORDS, f"--verify must be in 0..{MOST_WORDS}, got {verify}")
    fine = precision is None or 1 <= precision <= MOST_BITS
    require(fine, f"--precision must be in 1..{MOST_BITS} bits, got {precision}")
    from lengthwise.crasp.syntax import to_text
    from lengthwise.models.compile import compile_program, verify_finite
    from lengthwise.models.compile import verify as checked
    from lengthwise.models.limit import finite_version, save_theory

    program = read_program(file)
    compilation = compile_program(program, precision=precision)
    limit = compilation.required()
    if context is None:
        model, found = limit, checked(program, limit, words=verify)
    else:
        model = finite_version(limit, context)
        found = verify_finite(program, model, words=verify)
    facts = {
        "layers": compilation.layers,
        "attention_layers": compilation.attention_layers,
        "heads": [list(names) for names in compilation.heads],
        "width": model.width,
        "context": context,
        "added_bos": compilation.added_bos,
        "operations": [dataclasses.asdict(cost) for cost in compilation.operations],
        "verified": {"words": found.words, "values": found.values, "wrong": found.wrong},
        "mismatches": [dataclasses.asdict(mismatch) for mismatch in found.mismatches],
    }
    if as_json:
        emit_json(facts)
    else:
        _draw(compilation, facts, found)
    if not found.agrees:
        raise typer.Exit(MISMATCH)
    if target is not None:
        save_theory(model, target, source=to_text(program))
        err().print(f"wrote {target}")


def _draw(compilation: Compilation, facts: dict[str, Any], found: CompilationCheck) -> None:
    kinds: dict[str, list[int]] = {}
    for cost in compilation.operations:
        entry = kinds.setdefault(cost.kind, [0, 0, 0])
        for column, value in enumerate((1, cost.coordinates, cost.units)):
            entry[column] += value
    context = "any length" if facts["context"] is None else f"context {facts['context']}"
    print(f"layers      {facts['layers']} ({facts['attention_layers']} with heads)")
    print("heads       " + " | ".join(", ".join(names) or "-" for names in facts["heads"]))
    print(f"width       {facts['width']}, {context}")
    if facts["added_bos"]:
        print("bos         put in front of the word (the program declares none, and its positions do not count it)")
    parts = (f"{n} {kind} ({dims} coordinates, {units} units)" for kind, (n, dims, units) in sorted(kinds.items()))
    print("operations  " + ", ".join(parts))
    verdict = "no difference" if found.agrees else f"{found.wrong} DIFFERENCES"
    print(f"verified    {found.words} words, {found.values} values at all positions: {verdict}")
    for mismatch in found.mismatches:
        where = f"position {mismatch.position} of {mismatch.word!r} (offset {mismatch.offset})"
        says = "true" if mismatch.expected else "false"
        print(f"  {mismatch.output!r} at {where} is {says} by the interpreter and not by the model")
