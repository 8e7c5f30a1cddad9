"""The command ``lengthwise predict`` prints a forecast, and with ``--why`` theory's verdicts. It needs no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lengthwise.cli.console import emit_json, err, out, plain_table
from lengthwise.cli.options import Api, AsJson, from_api

if TYPE_CHECKING:
    from rich.console import Console

    from lengthwise.prediction.verdict import Prediction, StructureRow, Verdict

STYLE = {"yes": "bold green", "no": "bold red", "unknown": "bold yellow"}
MEASURED = 2
"""Measured systems on the screen."""


@from_api("theory.predict")
def predict(
    forecast: Api,
    target: Annotated[
        str, typer.Argument(help="A task, FILE.py:Class, regex:EXPRESSION, FILE.crasp, or examples in FILE.jsonl.")
    ],
    why: Annotated[bool, typer.Option("--why", help="Also print what theory says of each position system.")] = False,
    certificate: Annotated[
        bool, typer.Option("--certificate", help="Also print what theory says, with the certificates.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say how likely a model that is trained on short inputs is right on longer ones, why, and what to do.

    The answer comes first, then why, then what to do next. With --probe, small models are trained within the lengths
    that you have, and what they do there counts, too. --why adds what theory guarantees under each position system. For
    a task about which nothing is known, a small program and a coupling are searched for a few seconds.
    """
    from lengthwise.api.theory import training_command

    notes = err()
    found = forecast(target, progress=lambda line: notes.print(line, soft_wrap=True))
    if as_json:
        theory = found.theory
        emit_json({**theory.to_json(), "forecast": found.to_json(), "to_train": training_command(target, theory)})
        return
    out().print(found.text(), soft_wrap=True, markup=False, highlight=False)
    if why or certificate:
        if others := found.other_tasks():
            out().print("\n".join(["", "other tasks, by system: which were right", *others]), soft_wrap=True)
        out().print()
        draw(out(), found.theory, certificates=certificate)


def draw(console: Console, prediction: Prediction, *, certificates: bool) -> None:
    """One screen: dependencies, structure, verdicts, reasons, measurements, caveats."""
    from rich.text import Text

    from lengthwise.positions.system import CITED_LINK
    from lengthwise.prediction.measured import CUT, DECIDING
    from lengthwise.prediction.verdict import CAVEATS

    console.print(Text.assemble((prediction.target, "bold"), ("   " + prediction.summary, "dim")))
    if prediction.depends:
        console.print()
        for index, line in enumerate(prediction.depends[:9]):
            console.print(Text(line if index == 0 else "  " + line, style="" if index else "cyan"), soft_wrap=True)
        if len(prediction.depends) > 9:
            console.print(Text(f"  … {len(prediction.depends) - 9} more", style="dim"))
    if prediction.structure:
        console.print()
        _structure(console, prediction.structure)
    console.print()
    member = " of membership (the answer above is of next symbols, which can be easier)"
    of = member if prediction.kind == "language" else ""
    console.print(Text(f"what theory guarantees{of}: does a program exist? (not: does training find it)"))
    table = plain_table()
    for heading, width in (("positions", 20), ("generalizes?", 12), ("basis", 8)):
        table.add_column(heading, width=width)
    table.add_column("why", ratio=1)
    # To keep to one screen, models without attention are shown with the certificates.
    for group in _same_reason((*prediction.verdicts, *(prediction.models if certificates else ()))):
        first, names = group[0], ", ".join(verdict.system for verdict in group)
        style = STYLE["unknown"] if first.conflict or first.unmet else STYLE[first.answer]
        easier = f"; next symbols: {first.next_symbols}" * (first.next_symbols not in (None, first.answer))
        table.add_row(names, Text(first.shown + easier, style=style), first.basis or "–", Text(_reason(group)))
    console.print(table)
    helps = dict.fromkeys(verdict.help for verdict in prediction.verdicts if verdict.help)
    for help_ in helps:
        console.print(Text.assemble(("what would help in theory: ", "bold"), help_))
    for line in prediction.searched:
        console.print(Text(line, style="dim"), soft_wrap=True)
    if prediction.kind == "language":
        console.print(Text(prediction.communication, style="dim"))
    if prediction.measured:
        console.print()
        console.print(Text("measured", style="bold"))
        for line in prediction.measured[:MEASURED]:
            console.print(Text("  " + line))
        if (more := len(prediction.measured) - MEASURED) > 0:
            systems = "system" if more == 1 else "systems"
            console.print(Text(f"  and {more} more {systems}: see --json and studies", style="dim"))
    if prediction.reliability:
        console.print()
        cut, (low, high) = 100 * CUT, DECIDING
        console.print(Text("theory's record elsewhere", style="bold"))
        console.print(
            Text(f"  A yes is true where {cut:g} % of the strings of {low}–{high} symbols are right, a no where not.")
        )
        for line in prediction.reliability:
            console.print(Text("  " + line))
    if certificates:
        _certificates(console, prediction.verdicts)
    console.print()
    for caveat in CAVEATS:
        console.print(Text(caveat, style="dim"))
    if linked := [v.system for v in prediction.verdicts if v.source.startswith("cited") and v.answer == "yes"]:
        console.print(Text(f"that a program is enough for {', '.join(linked)} is {CITED_LINK}", style="dim"))


def _structure(console: Console, rows: tuple[StructureRow, ...]) -> None:
    first = rows[0]
    lengths = [str(length) for length in first.lengths]
    table = plain_table("length", *lengths, right=lengths, gap=3)
    table.add_row("sparsity k (parents)", *map(str, first.sparsity))
    if any(first.selectors):
        table.add_row("selectors", *map(str, first.selectors))
    for row in rows:
        table.add_row(f"span of parents, {row.scheme} ids", *map(str, row.span))
        if any(row.selectors):
            table.add_row(f"span of selectors, {row.scheme} ids", *map(str, row.selector_span))
            table.add_row(f"span of both, {row.scheme} ids", *map(str, row.both_span))
    console.print(table)


def _reason(group: list[Verdict]) -> str:
    """The reason that verdicts share; of measurements against it the whole line for one, else the numbers."""
    if len(group) == 1 or group[0].conflict is None:
        return group[0].reason
    numbers = ", ".join(
        f"{v.system} {v.conflict.highest:.2f} at length {v.conflict.length}" for v in group if v.conflict
    )
    return f"{group[0].in_theory}. but measured, at most: {numbers} (studies)"


def _same_reason(verdicts: tuple[Verdict, ...]) -> list[list[Verdict]]:
    """Verdicts with one answer, basis and reason share a line, at the place of the first of them."""
    groups: dict[tuple[str | None, ...], list[Verdict]] = {}
    for verdict in verdicts:
        same = (verdict.shown, verdict.basis, verdict.in_theory, verdict.next_symbols)
        groups.setdefault(same, []).append(verdict)
    return list(groups.values())


def _certificates(console: Console, verdicts: tuple[Verdict, ...]) -> None:
    from rich.text import Text

    shown: set[str] = set()
    for verdict in verdicts:
        for argument in verdict.arguments:
            if not argument.certificate or argument.why in shown:
                continue
            shown.add(argument.why)
            console.print()
            console.print(Text(f"certificate ({verdict.system}): {argument.certificate['kind']}", style="bold"))
            for key, value in argument.certificate.items():
                if key != "kind":
                    # Sentences come as a list of lines; they speak for themselves.
                    console.print(Text("\n".join(value) if key == "lines" else f"{key}: {value}"))
