"""Where a language whose words can't be recognized can still be predicted symbol by symbol, in a sentence."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lengthwise.crasp.decide.decision import NEXT, Decision, decide
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.prediction.systems import PositionSystem


def answers_by_fragment(decision: Decision) -> dict[str, str]:
    """Of the language of a decision: for each fragment, whether the next symbols of its words can be predicted."""
    found = decide(decision.dfa, ends=[NEXT], bounds=decision.bounds)
    return {fragment: answers[NEXT].verdict for fragment, answers in found.fragments.items()}


def next_symbol_verdict(source: str | Dfa, system: PositionSystem) -> str | None:
    """Whether a position system can predict the next symbols of a language's words; None for one without a theorem."""
    if system.fragment is None:
        return None
    return decide(source, ends=[NEXT]).verdict(system.fragment, NEXT).verdict


def next_symbol_note(source: str | Dfa, systems: Iterable[PositionSystem], recognized: Collection[str | None]) -> str:
    """Which of ``systems`` get a *yes* for next-symbol prediction alone; empty if none does.

    ``recognized`` are the fragments with a *yes* for membership, the last symbol visible. Raises `LengthwiseError` for
    an expression that can't be read.
    """
    decision = decide(source, ends=[NEXT])
    gained = [
        system.name
        for system in systems
        if system.fragment is not None
        and decision.verdict(system.fragment, NEXT).verdict == "yes"
        and system.fragment not in recognized
    ]
    if not gained:
        return ""
    return f"yes for {', '.join(gained)} where only the next symbols of its words are asked for, which is easier"
