"""Minimizes automata in a canonical numbering, so that equal languages give equal `Dfa` objects."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from lengthwise.languages.automata.automaton import Dfa, Word
from lengthwise.languages.automata.search import Search, numbered_graph


@lru_cache(maxsize=512)
def minimize(dfa: Dfa) -> Dfa:
    """The unique smallest complete automaton; states are numbered in breadth-first order of the alphabet."""
    reached = list(Search(0, dfa.delta.__getitem__))
    classes = _partition(dfa.delta, dfa.accepting, reached)
    representative: dict[int, int] = {}
    for state in reached:
        representative.setdefault(classes[state], state)
    # Classes in the order in which breadth-first search of the *quotient* meets them.
    names, delta = numbered_graph(
        classes[0], lambda name: [classes[target] for target in dfa.delta[representative[name]]]
    )
    return Dfa(dfa.alphabet, delta, tuple(dfa.accepting[representative[name]] for name in names))


def distinguishing_word(dfa: Dfa, first: int, second: int) -> Word | None:
    """A shortest word accepted from exactly one of two states; None if the states are equivalent."""
    search = Search((first, second), lambda pair: zip(dfa.delta[pair[0]], dfa.delta[pair[1]], strict=True))
    differing = (pair for pair in search if dfa.accepting[pair[0]] != dfa.accepting[pair[1]])
    return search.word(found) if (found := next(differing, None)) is not None else None


def access_words(dfa: Dfa) -> dict[int, Word]:
    """A shortest word from the start to every reachable state."""
    search = Search(0, dfa.delta.__getitem__)
    return {state: search.word(state) for state in search}


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
