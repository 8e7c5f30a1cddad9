"""Where a language whose words can't be recognized can still be predicted symbol by symbol, in a sentence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from lengthwise.crasp.decide.decision import NEXT, Decision, decide
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.prediction.systems import PositionSystem


def answers_by_fragment(decision: Decision) -> dict[str, str]:
    """Of the language of a decision: for each fragment, whether the next symbols of its words can be predicted."""
    found = decide(decision.dfa, ends=[NEXT], bounds=decision.bounds)
    return {fragment: answers[NEXT].verdict for fragment, answers in found.fragments.items()}


def next_symbol_verdicts(source: str | Dfa, systems: Iterable[PositionSystem]) -> dict[str, str | None]:
    """By position system, whether it can predict the next symbols of a language's words; None without a theorem.

    Raises `LengthwiseError` for an expression that can't be read.
    """
    decision = decide(source, ends=[NEXT])
    return {
        system.name: None if system.fragment is None else decision.verdict(system.fragment, NEXT).verdict
        for system in systems
    }


def next_symbol_note(verdicts: Mapping[str, str | None], recognized: Collection[str]) -> str:
    """Which position systems get a *yes* for next-symbol prediction alone; empty if none does.

    ``recognized`` are those with a *yes* for membership, the last symbol visible.
    """
    gained = [name for name, verdict in verdicts.items() if verdict == "yes" and name not in recognized]
    if not gained:
        return ""
    return f"yes for {', '.join(gained)} where only the next symbols of its words are predicted, which is easier"
