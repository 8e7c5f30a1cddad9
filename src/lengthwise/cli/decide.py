"""The command ``lengthwise decide`` decides in which fragments of C-RASP a regular language lies."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lengthwise.cli.console import emit_json, err, out
from lengthwise.core.errors import LengthwiseError, UnknownNameError, shortened

if TYPE_CHECKING:
    from lengthwise.crasp.decide import Decision

ENDS = {"both": ("visible", "eos"), "visible": ("visible",), "eos": ("eos",), "next": ("next",)}


def decide(
    expressions: Annotated[
        list[str],
        typer.Argument(
            metavar="TARGET…", help="regex:EXPRESSION, a published language, a DFA in FILE.json, or - for stdin."
        ),
    ],
    alphabet: Annotated[str | None, typer.Option("--alphabet", help="e.g. abc; default: the letters used.")] = None,
    max_window: Annotated[int, typer.Option("--max-window", help="Largest window k searched.")] = 8,
    max_period: Annotated[int, typer.Option("--max-period", help="Largest period m searched.")] = 12,
    end: Annotated[
        str,
        typer.Option(
            "--end", help="visible, eos or both: how the end of a word is read; next: no membership, next symbols."
        ),
    ] = "both",
    program: Annotated[bool, typer.Option("--program", help="Also print a program for every yes.")] = False,
    certificates: Annotated[
        Path | None, typer.Option("--certificates", help="Write the checked certificate of every yes and no there.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per expression and line.")] = False,
) -> None:
    """Decide membership in C-RASP without positions, with windows, with periods, and with both."""
    from lengthwise.crasp.decide import Bounds, of_membership
    from lengthwise.crasp.decide import decide as decide_language
    from lengthwise.prediction.target import regular_language
    from lengthwise.workflows.certificates import certified as certified_decision

    if end not in ENDS:
        raise UnknownNameError("end convention", end, ENDS)
    if program or certificates is not None:
        of_membership(end, "programs and certificates")
    failed = False
    certified: list[dict[str, Any]] = []
    for index, text in enumerate(_expressions(expressions)):
        try:
            source, own_alphabet = regular_language(text)
            text = text.removeprefix("regex:")
            decision = decide_language(
                source, alphabet or own_alphabet, ends=ENDS[end], bounds=Bounds(max_window, max_period)
            )
            programs = _programs(decision) if program else {}
            if certificates is not None:
                certified.append(certified_decision(text, decision))
        except LengthwiseError as error:
            failed = True
            _report_failure(text, str(error), as_json)
            continue
        if as_json:
            _emit(decision, text, programs if program else None)
        else:
            from lengthwise.cli.decide_view import draw_decision

            draw_decision(out(), text, decision, programs, first=index == 0)
    if certificates is not None:
        _write_certificates(certificates, certified)
    if failed:
        raise typer.Exit(2)


def _expressions(arguments: list[str]) -> Iterator[str]:
    """The expressions in order; ``-`` stands for the lines of stdin, blank ones left out."""
    for argument in arguments:
        if argument == "-":
            yield from (line.strip() for line in sys.stdin if line.strip())
        else:
            yield argument


def _report_failure(text: str, message: str, as_json: bool) -> None:
    if as_json:
        emit_json({"regex": text, "error": message}, indent=None)
    print(f"error: {shortened(text)}: {shortened(' '.join(message.split()))}", file=sys.stderr)


def _emit(decision: Decision, text: str, programs: dict[str, Any] | None) -> None:
    """Print one decision as a line of JSON, with programs unless they are None."""
    from lengthwise.prediction.verdict import answers_by_fragment

    values = {**decision.to_json(), "regex": text, "next_symbols": answers_by_fragment(decision)}
    emit_json(values if programs is None else {**values, "programs": programs}, indent=None)


def _write_certificates(path: Path, languages: list[dict[str, Any]]) -> None:
    from lengthwise.workflows.certificates import write_certificates

    write_certificates(path, languages)
    count = sum(len(entry["certificates"]) for entry in languages)
    err().print(
        f"{count} certificates in {path}; `lengthwise check-certificates {path}` checks them again", soft_wrap=True
    )


def _programs(decision: Decision) -> dict[str, Any]:
    """For each end convention, a program of the smallest fragment that has one."""
    from lengthwise.crasp.extraction import program_of
    from lengthwise.crasp.syntax import to_text

    found: dict[str, Any] = {}
    for end in decision.ends:
        for fragment in ("none", "local", "periodic", "ape"):
            if decision.verdict(fragment, end).verdict == "yes":
                found[end] = {"fragment": fragment, "text": to_text(program_of(decision, fragment, end))}
                break
    return found
