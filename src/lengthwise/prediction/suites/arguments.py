"""Pieces of evidence on a task, and the ways in which one is stated: programs, decisions, bounds, citations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lengthwise.crasp import library
from lengthwise.crasp.certificates.explanation import explanation
from lengthwise.crasp.decide.decision import decide
from lengthwise.crasp.library.template import program_text
from lengthwise.crasp.program.fragment import FRAGMENTS, Fragment
from lengthwise.crasp.program.program import Program
from lengthwise.crasp.syntax.parser import parse
from lengthwise.crasp.syntax.printer import to_text
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.languages.communication import FOOLING_SETS
from lengthwise.prediction.verdict import Argument

HUANG = "Huang et al. 2025"
SCHEME = "the scheme is the same for any alphabet"


@dataclass(frozen=True)
class Evidence:
    """An argument and its fragment."""

    fragment: Fragment
    argument: Argument


def program_evidence(program: Program, name: str, note: str = "") -> Evidence:
    """A program as a *yes* for its fragment; ``note`` limits what it covers, if that is not the whole task."""
    fragment = program.fragment
    shape = f"depth {program.depth}, window {program.window}, period {program.period}"
    why = f"a C-RASP program exists ({name}: {shape}{f'; {note}' if note else ''})"
    proof = {"kind": "program", "name": name, "program": to_text(program)} | ({"note": note} if note else {})
    return Evidence(fragment, Argument("yes", "proved", why, proof))


@lru_cache(maxsize=128)
def language_evidence(
    source: str | Dfa, about: str = "", *, end: str = "visible", alphabet: str | None = None
) -> tuple[Evidence, ...]:
    """The exact decision for a regular language, one piece of evidence per fragment that is decided.

    It is kept, because every position system needs the same.
    """
    decision = decide(source, alphabet, ends=("visible", "eos") if end == "both" else (end,))
    regex = source if isinstance(source, str) else "it"
    regex = f"{about}, {regex}" if about else regex
    found: list[Evidence] = []
    for fragment in FRAGMENTS:
        verdict = decision.verdict(fragment, end)
        if verdict.verdict == "unknown":
            continue
        sentences = explanation(decision, fragment, end).splitlines()
        if verdict.verdict == "yes":
            shape = f"window {verdict.window}, period {verdict.period}"
            why = f"the decision finds a program for {regex} ({shape})"
            proof = {"kind": "potentials", "lines": sentences}
            found.append(Evidence(fragment, Argument("yes", "proved", why, proof)))
        else:
            why = f"no guarantee: no program exists for {regex}"
            basis = "cited" if verdict.basis == "cited" else "ours"
            proof = {"kind": "merged states", "lines": sentences}
            found.append(Evidence(fragment, Argument("no", basis, why, proof)))
    return tuple(found)


def library_evidence(name: str, note: str = "") -> Evidence:
    """A program of the library as evidence."""
    return program_evidence(library.get(name), name, note)


def template_evidence(template: str, name: str, note: str = "", **values: Any) -> Evidence:
    """A program from a template of the library as evidence."""
    return program_evidence(parse(program_text(template, **values)), name, note)


def for_symbols(count: int) -> str:
    """What a program for fewer symbols covers."""
    return f"for {count} symbols; {SCHEME}"


def cited(fragment: Fragment, answer: str, why: str, source: str = HUANG) -> Evidence:
    """A published answer."""
    return Evidence(fragment, Argument("yes" if answer == "yes" else "no", "cited", f"{why} ({source})"))


def no_for_nope(what: str, source: str = HUANG) -> Evidence:
    """A published *no* without positions."""
    return cited("none", "no", f"no guarantee: no program without positions exists for {what}", source)


def fooling_set(key: str, basis: str = "cited") -> Evidence:
    """A *no* for every fragment by a fooling set that is checked here."""
    fooling = FOOLING_SETS[key]
    count = fooling.verify(4)
    why = f"no guarantee: communication bound (Theorem 12, {HUANG}). {fooling.statement}"
    proof = {"kind": "fooling set", "statement": fooling.statement, "checked": f"{count} prefixes of 4 bits, all pairs"}
    return Evidence("ape", Argument("no", "cited" if basis == "cited" else "ours", why, proof))


def communication(statement: str) -> Evidence:
    """A *no* for every fragment by a communication bound, stated in words."""
    why = f"no guarantee: communication bound (Theorem 12, {HUANG}). {statement}"
    return Evidence("ape", Argument("no", "ours", why, {"kind": "fooling argument", "statement": statement}))
