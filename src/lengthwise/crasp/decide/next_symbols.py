"""Next-symbol prediction is easier than recognition: only prefixes of words are ever read.

A program that predicts which symbols may come next may say anything after a prefix that no word has. So two states that
counting can't tell apart (*merged*, `potential.py`) do no harm if every symbol that both may read leads both to the
same state: what was read last, which is visible, then settles the rest. They do harm, a `Conflict`, if some symbol
that both may read leads to different states: these are told apart by what may follow, now or later.

`(b|c)*ba` shows the difference. Recognition has to know whether a `b` was right before the last `a`, which counting
can't say. Next-symbol prediction never meets an `a` anywhere else. docs/verdicts.md has the argument.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lengthwise.languages.automata.automaton import Dfa


@dataclass(frozen=True)
class Conflict:
    """Two states that look alike, and a symbol that both may read and that leads them to different states."""

    states: tuple[int, int]
    symbol: int


def conflict(dfa: Dfa, merged: Iterable[Sequence[int]]) -> Conflict | None:
    """The first conflict within one of the groups of merged states, or None."""
    for group in merged:
        for symbol in range(len(dfa.alphabet)):
            first: int | None = None
            for state in group:
                target = dfa.delta[state][symbol]
                if not dfa.live[target]:
                    continue
                if first is None:
                    first = state
                elif dfa.delta[first][symbol] != target:
                    return Conflict((first, state), symbol)
    return None


def merged_states(states: Iterable[int], classes: Sequence[int]) -> list[list[int]]:
    """The states of each class: those that counting can't tell apart."""
    groups: dict[int, list[int]] = defaultdict(list)
    for state, number in zip(states, classes, strict=True):
        groups[number].append(state)
    return list(groups.values())


def allowed_after(dfa: Dfa, state: int) -> frozenset[int]:
    """The symbols that may follow in a state, and the number of symbols if the word may end there."""
    symbols = range(len(dfa.alphabet))
    end = {len(dfa.alphabet)} if dfa.accepting[state] else set()
    return frozenset({symbol for symbol in symbols if dfa.live[dfa.delta[state][symbol]]} | end)
