"""Draws a decision in the terminal: a table of fragments and encodings, and the reasons."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from lengthwise.cli.console import plain_table
from lengthwise.crasp.certificates import explanation
from lengthwise.crasp.decide import Decision, FragmentVerdict
from lengthwise.prediction.verdict import SYSTEMS, answers_by_fragment, next_symbol_note

_FRAGMENTS = {
    "none": ("C-RASP", "NoPE"),
    "local": ("C-RASP[local]", "ALiBi"),
    "periodic": ("C-RASP[periodic]", "sinusoidal, RoPE"),
    "ape": ("C-RASP[periodic, local]", "APE"),
}
_ENDS = {"visible": "last symbol visible", "eos": "read at an end mark", "next": "next symbols of words"}
_STYLE = {"yes": "bold green", "no": "bold red", "unknown": "bold yellow"}


def draw_decision(console: Console, text: str, decision: Decision, programs: dict[str, Any], *, first: bool) -> None:
    """One expression: header, table, reasons, and programs if there are any."""
    if not first:
        console.print()
    head = Text(text, style="bold")
    head.append("   " + " · ".join(_facts(decision)), style="dim")
    console.print(head)
    console.print()
    table = plain_table("fragment", "encodings", *[_ENDS[end] for end in decision.ends], gap=3)
    for fragment, (name, encodings) in _FRAGMENTS.items():
        cells = [_cell(decision.verdict(fragment, end)) for end in decision.ends]
        table.add_row(Text(name), Text(encodings, style="dim"), *cells)
    console.print(table)
    if "visible" in decision.ends:
        predicted = answers_by_fragment(decision)
        gained = [f for f in _FRAGMENTS if predicted[f] == "yes" and decision.verdict(f, "visible").verdict != "yes"]
        if easier := next_symbol_note([system.name for system in SYSTEMS if system.fragment in gained]):
            console.print(Text(easier[0].upper() + easier[1:] + " (--end next)."))
    for fragment, end in _telling(decision) if decision.ends != ("next",) else ():
        if sentences := explanation(decision, fragment, end):
            console.print()
            console.print(Text(f"{_FRAGMENTS[fragment][0]}, {sentences}"))
    for end, program in programs.items():
        console.print()
        console.print(Text(f"a program in {_FRAGMENTS[program['fragment']][0]} ({_ENDS[end]}):", style="dim"))
        console.print(Text(program["text"].rstrip()))


def _facts(decision: Decision) -> list[str]:
    facts = [f"alphabet {' '.join(decision.dfa.alphabet)}", f"{decision.dfa.size} states"]
    size = decision.monoid_size
    facts.append(f"monoid of {size}" if size is not None else f"monoid larger than {decision.analysis.max_elements}")
    if decision.star_free is not None:
        facts.append("star-free" if decision.star_free else "not star-free")
    if decision.r_trivial:
        facts.append("R-trivial")
    if decision.group:
        facts.append("group")
    return facts


def _cell(verdict: FragmentVerdict) -> Text:
    text = Text(f"{verdict.verdict:<4}", style=_STYLE[verdict.verdict])
    details = []
    if verdict.verdict == "yes" and (verdict.window or 1) > 1:
        details.append(f"k = {verdict.window}")
    if verdict.verdict == "yes" and (verdict.period or 1) > 1:
        details.append(f"m = {verdict.period}")
    details.append(verdict.basis if verdict.verdict != "unknown" else "search bounds reached")
    return text.append(" " + ", ".join(details), style="dim")


def _telling(decision: Decision) -> list[tuple[str, str]]:
    """The verdicts that get a reason: without positions, and with all positions where that differs, at one end."""
    end = decision.ends[-1]
    answers = [decision.verdict(fragment, end).verdict for fragment in ("none", "ape")]
    return [("none", end)] if answers[0] == answers[1] == "yes" else [("none", end), ("ape", end)]
