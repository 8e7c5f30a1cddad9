"""The machine behind a *yes* for next symbols: it agrees with a language after every prefix of a word."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lengthwise.crasp.decide import allowed_after
from lengthwise.languages.automaton import Dfa


@dataclass(frozen=True)
class Completion:
    """A machine that agrees with a language after every prefix of a word, and runs on every other string, too.

    ``delta`` leads from class and symbol to class, ``allowed[class][symbol]`` are the symbols that may follow that
    symbol in that class (the end is the number of symbols); both are None where no word goes.
    """

    start: int
    delta: tuple[tuple[int | None, ...], ...]
    allowed: tuple[tuple[frozenset[int] | None, ...], ...]


def completion(dfa: Dfa, merged: Iterable[Sequence[int]]) -> Completion:
    """The machine whose states are classes of merged states, which have no conflict; other states are alone."""
    of = list(range(dfa.size))
    for group in merged:
        for state in group:
            of[state] = group[0]
    members: dict[int, list[int]] = defaultdict(list)
    for state in range(dfa.size):
        members[of[state]].append(state)
    numbers = {name: number for number, name in enumerate(members)}
    delta, allowed = [], []
    for group in members.values():
        row: list[int | None] = []
        sets: list[frozenset[int] | None] = []
        for symbol in range(len(dfa.alphabet)):
            live = {dfa.delta[state][symbol] for state in group if dfa.live[dfa.delta[state][symbol]]}
            assert len(live) <= 1, "merged states in conflict"
            target = next(iter(live), None)
            row.append(None if target is None else numbers[of[target]])
            sets.append(None if target is None else allowed_after(dfa, target))
        delta.append(tuple(row))
        allowed.append(tuple(sets))
    return Completion(numbers[of[0]], tuple(delta), tuple(allowed))
