"""The commands ``lengthwise crasp`` run, check, list, print, learn and compile C-RASP programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lengthwise.cli.console import emit_json, err, out
from lengthwise.cli.options import Api, AsJson, Threads, from_api
from lengthwise.training.threads import use_threads

if TYPE_CHECKING:
    from lengthwise.api.programs import CompiledProgram

MISMATCH = 1
"""Exit code when the model and the interpreter differ."""

crasp = typer.Typer(help="Run, check, list, print, learn and compile C-RASP programs.", no_args_is_help=True)
FILE = Annotated[str, typer.Argument(metavar="FILE", help="A program file, or the name of a library program.")]


@crasp.command("run")
def run(
    file: FILE,
    word: Annotated[str, typer.Option("--word", help='The word, e.g. "a a b"; "" is the empty word.')],
    trace: Annotated[bool, typer.Option("--trace", help="Show the values of all definitions and countings.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a program on one word: accepted or rejected, or which symbols may come next."""
    from lengthwise.api.programs import run_program

    done = run_program(file, word)
    table = done.trace if trace else None
    if as_json:
        answer = {"next": done.next} if done.next is not None else {"accepted": done.accepted}
        result: dict[str, Any] = {"word": list(done.word), **answer}
        if table is not None:
            rows = [{"name": row.head, "text": row.text, "values": list(row.values)} for row in table.rows]
            result["trace"] = {"columns": list(table.columns), "rows": rows}
        emit_json(result)
        return
    if table is not None:
        print(f"{table}\n")
    if done.next is not None:
        print("may come next: " + (" ".join(done.next) or "nothing"))
    else:
        print("accepted" if done.accepted else "rejected")


@crasp.command("check")
def check(file: FILE, as_json: AsJson = False) -> None:
    """Say which fragment a program lies in, and how large and deep it is."""
    from lengthwise.api.programs import program_facts, read_program

    facts = program_facts(read_program(file))
    if as_json:
        emit_json(facts)
        return
    for key, value in facts.items():
        shown = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
        print(f"{key:<10} {' '.join(shown) if isinstance(shown, list) else shown}")


@crasp.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the library of programs."""
    from lengthwise.crasp import library

    if as_json:
        from lengthwise.api.programs import program_facts

        # Sizes need the parsed programs; the plain list does not, and starts quicker.
        about = ("name", "definition", "source", "checked_length")
        entries = library.ENTRIES.values()
        emit_json([{name: getattr(entry, name) for name in about} | program_facts(entry.program) for entry in entries])
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for entry in library.ENTRIES.values():
        line = Text(entry.definition)
        line.append(f"  ({entry.source})", style="dim")
        table.add_row(Text(entry.name, style="cyan"), line)
    out().print(table)


@crasp.command("print")
def print_(name: Annotated[str, typer.Argument(help="The name of a library program.")]) -> None:
    """Print a library program, ready to be saved, changed and run."""
    from lengthwise.crasp import library

    print(library.text(name), end="")


@crasp.command("learn")
@from_api("programs.learn_program")
def learn(
    learn_program: Api,
    target: Annotated[
        str,
        typer.Argument(help='A task, regex:EXPRESSION, or examples {"prompt": "a a b", "answer": true} in FILE.jsonl.'),
    ],
    periods: Annotated[list[int] | None, typer.Option("--period", help="Also positions i ≡ r mod PERIOD.")] = None,
    distances: Annotated[list[int] | None, typer.Option("--distance", help="Also the symbol DISTANCE back.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find the smallest program that agrees with a task or with labelled examples."""
    found = learn_program(target, periods=periods or (), distances=distances or ()).values
    if as_json:
        emit_json(found)
        return
    text = found["program"]
    print(f"# accepts: {found['meaning']}")
    if text is None:
        print(
            f"# no program up to size {found['exhausted_size']} ({found['searched']:,} candidates); "
            "larger ones may exist"
        )
        return
    smallest = ", the smallest" if found["smallest"] else ""
    print(f"# size {found['size']}{smallest}; agrees on {found['checked_words']:,} words")
    print(text, end="" if text.endswith("\n") else "\n")


@crasp.command("compile")
@from_api("programs.compile_program")
def compile_(
    compile_program: Api,
    file: FILE,
    target: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the weights.")] = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Compile a program to a Limit Transformer and compare the two at every position; exit code 1 if they differ."""
    use_threads(threads)
    found = compile_program(file)
    if as_json:
        emit_json(found.to_json())
    else:
        _draw(found)
    if not found.agrees:
        raise typer.Exit(MISMATCH)
    if target is not None:
        found.save(target)
        err().print(f"wrote {target}")


def _draw(compiled: CompiledProgram) -> None:
    compilation, facts, found = compiled.compilation, compiled.to_json(), compiled.check
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
