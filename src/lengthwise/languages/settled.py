"""How many first symbols of a word settle what may follow, whatever the others are."""

from __future__ import annotations

from lengthwise.languages.automaton import Dfa
from lengthwise.languages.sampling import counts

MOST = 95
"""Percent of the words of a length that are settled."""


def settling_symbols(dfa: Dfa, length: int, most: int) -> int | None:
    """By how many first symbols, at most so many, `MOST` percent of the words of a length are settled, and not all are.

    A word is settled by symbols behind which the same ones, or the end, may come next at every place of every word.
    None where these take more symbols, and where so many settle every word. Words are counted, not drawn.
    """
    settled, total = _settled(dfa), counts(dfa).of(length)[0]
    ways, found = [1] + [0] * (dfa.size - 1), None
    for n in range(min(most, length) + 1):
        ends = counts(dfa).of(length - n)
        words = sum(way * end for way, end, on in zip(ways, ends, settled, strict=True) if on)
        if total and words == total:
            return None
        if total and found is None and 100 * words >= MOST * total:
            found = n
        there = [0] * dfa.size
        for way, row in zip(ways, dfa.delta, strict=True):
            for target in row:
                there[target] += way
        ways = there
    return found


def _settled(dfa: Dfa) -> list[bool]:
    """Of each state, whether the same symbols may follow, and the word may end, behind all that may follow it."""
    says = [(accepts, *(dfa.live[t] for t in row)) for accepts, row in zip(dfa.accepting, dfa.delta, strict=True)]
    settled = [*dfa.live]
    for _ in range(dfa.size):
        settled = [
            on and all(settled[t] and says[t] == says[q] for t in dfa.delta[q] if dfa.live[t])
            for q, on in enumerate(settled)
        ]
    return settled
