"""Where a language whose words can't be recognized can still be predicted symbol by symbol, in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from lengthwise.crasp.decide.decision import NEXT, Decision, decide
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.prediction.verdict import Verdict


def answers_by_fragment(decision: Decision) -> dict[str, str]:
    """Of the language of a decision: for each fragment, whether the next symbols of its words can be predicted."""
    found = decide(decision.dfa, ends=[NEXT], bounds=decision.bounds)
    return {fragment: answers[NEXT].verdict for fragment, answers in found.fragments.items()}


def with_next_symbols(verdicts: Iterable[Verdict], source: str | Dfa) -> tuple[Verdict, ...]:
    """The verdicts on a language with those on its next symbols, where the position system has a fragment.

    Raises `LengthwiseError` for an expression that can't be read.
    """
    decision = decide(source, ends=[NEXT])
    return tuple(
        v if v.fragment is None else replace(v, next_symbols=decision.verdict(v.fragment, NEXT).verdict)
        for v in verdicts
    )


def next_symbol_note(gained: Sequence[str]) -> str:
    """A sentence on the position systems that get a *yes* for next symbols alone; empty if there are none."""
    if not gained:
        return ""
    return f"yes for {', '.join(gained)} where only the next symbols of its words are predicted, which is easier"


def note_on(verdicts: Iterable[Verdict]) -> str:
    """`next_symbol_note` on verdicts that have those on next symbols."""
    return next_symbol_note([v.system for v in verdicts if v.next_symbols == "yes" and v.answer != "yes"])
