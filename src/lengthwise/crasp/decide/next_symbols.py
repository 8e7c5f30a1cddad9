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

from lengthwise.crasp.decide.product import Component
from lengthwise.crasp.decide.stable_local_test import LocalSystem
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


def merged_in_component(component: Component, classes: Sequence[int]) -> list[list[int]]:
    """The automaton states of each class of nodes that share window and phase."""
    groups: dict[int, list[int]] = defaultdict(list)
    # The classes refine the contexts, so nodes of one class share window and phase.
    for node, number in zip(component.nodes, classes, strict=True):
        groups[number].append(node.state)
    return list(groups.values())


def merged_in_system(system: LocalSystem) -> list[list[int]]:
    """The automaton states of each class of a local system."""
    groups: dict[int, list[int]] = defaultdict(list)
    for state, number in zip(system.states, system.refinement.classes, strict=True):
        groups[number].append(state)
    return list(groups.values())


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


def allowed_after(dfa: Dfa, state: int) -> frozenset[int]:
    """The symbols that may follow in a state, and the number of symbols if the word may end there."""
    symbols = range(len(dfa.alphabet))
    end = {len(dfa.alphabet)} if dfa.accepting[state] else set()
    return frozenset({symbol for symbol in symbols if dfa.live[dfa.delta[state][symbol]]} | end)
