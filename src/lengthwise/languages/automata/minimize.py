"""Minimizes automata in a canonical numbering, so that equal languages give equal `Dfa` objects."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from lengthwise.languages.automata.automaton import Dfa, Word

Node = TypeVar("Node", bound=Hashable)


def minimize(dfa: Dfa) -> Dfa:
    """The unique smallest complete automaton; states are numbered in breadth-first order of the alphabet."""
    reached = _breadth_first(dfa.delta, 0)
    classes = _partition(dfa.delta, dfa.accepting, reached)
    representative: dict[int, int] = {}
    for state in reached:
        representative.setdefault(classes[state], state)
    # Classes in the order in which breadth-first search of the *quotient* meets them.
    order = {classes[0]: 0}
    queue = [classes[0]]
    for name in queue:
        for target in dfa.delta[representative[name]]:
            if classes[target] not in order:
                order[classes[target]] = len(order)
                queue.append(classes[target])
    delta = tuple(tuple(order[classes[target]] for target in dfa.delta[representative[name]]) for name in queue)
    return Dfa(dfa.alphabet, delta, tuple(dfa.accepting[representative[name]] for name in queue))


def distinguishing_word(dfa: Dfa, first: int, second: int) -> Word | None:
    """A shortest word accepted from exactly one of two states; None if the states are equivalent."""
    parents: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = {(first, second): None}
    queue = [(first, second)]
    for pair in queue:
        if dfa.accepting[pair[0]] != dfa.accepting[pair[1]]:
            return trace_back(parents, pair)
        for symbol in range(len(dfa.alphabet)):
            target = (dfa.delta[pair[0]][symbol], dfa.delta[pair[1]][symbol])
            if target not in parents and target[0] != target[1]:
                parents[target] = (pair, symbol)
                queue.append(target)
    return None


def access_words(dfa: Dfa) -> dict[int, Word]:
    """A shortest word from the start to every reachable state."""
    words: dict[int, Word] = {0: ()}
    queue = [0]
    for state in queue:
        for symbol, target in enumerate(dfa.delta[state]):
            if target not in words:
                words[target] = (*words[state], symbol)
                queue.append(target)
    return words


def trace_back(parents: Mapping[Node, tuple[Node, int] | None], node: Node) -> Word:
    """The symbols on the path from the root (whose parent is None) to ``node``; parents are (node, symbol)."""
    word: list[int] = []
    while (step := parents[node]) is not None:
        node, symbol = step
        word.append(symbol)
    return tuple(reversed(word))


def _breadth_first(delta: Sequence[Sequence[int]], start: int) -> list[int]:
    seen, queue = {start}, [start]
    for state in queue:
        for target in delta[state]:
            if target not in seen:
                seen.add(target)
                queue.append(target)
    return queue


def _partition(delta: Sequence[Sequence[int]], accepting: Sequence[bool], states: list[int]) -> dict[int, int]:
    """Moore's refinement: split by the classes of the successors until nothing splits."""
    classes = {state: int(accepting[state]) for state in states}
    count = len(set(classes.values()))
    while True:
        names: dict[tuple[int, ...], int] = {}
        refined = {
            state: names.setdefault((classes[state], *[classes[target] for target in delta[state]]), len(names))
            for state in states
        }
        if len(names) == count:
            return refined
        classes, count = refined, len(names)
