"""The commands ``lengthwise crasp`` run, check, list, print and learn C-RASP programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lengthwise.cli.console import emit_json, out
from lengthwise.cli.options import AsJson

if TYPE_CHECKING:
    from lengthwise.crasp.program import Program

crasp = typer.Typer(help="Run, check, list, print and learn C-RASP programs.", no_args_is_help=True)
FILE = Annotated[str, typer.Argument(metavar="FILE", help="A program file, or the name of a library program.")]


@crasp.command("run")
def run(
    file: FILE,
    word: Annotated[str, typer.Option("--word", help='The word, e.g. "a a b"; "" is the empty word.')],
    trace: Annotated[bool, typer.Option("--trace", help="Show the values of all definitions and countings.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a program on one word: accepted or rejected, or which symbols may come next."""
    from lengthwise.core.vocab import EOS
    from lengthwise.crasp import interpreter
    from lengthwise.crasp.interpreter import trace as traced

    program = read_program(file)
    symbols = interpreter.read_word(program, word)
    ids = interpreter.encode(program, [symbols])
    result: dict[str, Any] = {"word": list(symbols)}
    if program.is_next_token:
        allowed = interpreter.next_tokens(program, ids)[0, -1]
        result["next"] = [s for s, a in zip((*program.alphabet, EOS), allowed, strict=True) if a]
    else:
        result["accepted"] = bool(interpreter.run(program, ids)[0])
    table = traced(program, symbols) if trace else None
    if as_json:
        if table is not None:
            rows = [{"name": row.head, "text": row.text, "values": list(row.values)} for row in table.rows]
            result["trace"] = {"columns": list(table.columns), "rows": rows}
        emit_json(result)
        return
    if table is not None:
        print(f"{table}\n")
    if program.is_next_token:
        print("may come next: " + (" ".join(result["next"]) or "nothing"))
    else:
        print("accepted" if result["accepted"] else "rejected")


@crasp.command("check")
def check(file: FILE, as_json: AsJson = False) -> None:
    """Say which fragment a program lies in, and how large and deep it is."""
    program = read_program(file)
    facts = _facts(program)
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
        # Sizes need the parsed programs; the plain list does not, and starts quicker.
        about = ("name", "definition", "source", "checked_length")
        entries = library.ENTRIES.values()
        emit_json([{name: getattr(entry, name) for name in about} | _facts(entry.program) for entry in entries])
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
def learn(
    target: Annotated[
        str,
        typer.Argument(help='A task, regex:EXPRESSION, or examples {"prompt": "a a b", "answer": true} in FILE.jsonl.'),
    ],
    answer: Annotated[str | None, typer.Option("--answer", help="Which answer of the task the program tells.")] = None,
    max_size: Annotated[int, typer.Option("--max-size", help="Largest size searched.")] = 7,
    periods: Annotated[list[int] | None, typer.Option("--period", help="Also positions i ≡ r mod PERIOD.")] = None,
    distances: Annotated[list[int] | None, typer.Option("--distance", help="Also the symbol DISTANCE back.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find the smallest program that agrees with a task or with labelled examples."""
    from lengthwise.crasp.syntax import to_text
    from lengthwise.crasp.synthesis import synthesize
    from lengthwise.prediction.search import labelled_words

    words = labelled_words(target, answer)
    found = synthesize(
        words.labels,
        words.alphabet,
        max_size=max_size,
        periods=tuple(periods or ()),
        distances=tuple(distances or ()),
        members=words.members,
    )
    text = None if found.program is None else to_text(found.program)
    if as_json:
        emit_json(
            {
                "meaning": words.meaning,
                "program": text,
                "size": found.size,
                "smallest": found.smallest,
                "searched": found.searched,
                "exhausted_size": found.exhausted_size,
                "checked_words": found.checked,
            }
        )
        return
    print(f"# accepts: {words.meaning}")
    if text is None:
        print(f"# no program up to size {found.exhausted_size} ({found.searched:,} candidates); larger ones may exist")
        return
    print(f"# size {found.size}{', the smallest' if found.smallest else ''}; agrees on {found.checked:,} words")
    print(text, end="" if text.endswith("\n") else "\n")


def read_program(file: str) -> Program:
    """A program file, or a library program where no such file exists."""
    from lengthwise.crasp import library
    from lengthwise.crasp.syntax import load_program

    looks_like_a_name = "/" not in file and "." not in file
    return library.get(file) if looks_like_a_name and not Path(file).exists() else load_program(file)


def _facts(program: Program) -> dict[str, Any]:
    return {
        "alphabet": list(program.alphabet),
        "kind": "next token" if program.is_next_token else "acceptance",
        **{name: getattr(program, name) for name in ("fragment", "window", "period", "depth", "size", "bos", "eos")},
    }
