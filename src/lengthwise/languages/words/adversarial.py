"""Draws adversarial pairs of words with equal windows and different answers.

A model that reads the last k symbols only is right on most *random* words of many languages: in {0,1,2}*02* the last 0
or 1 is rarely far back. On each of these pairs it must be wrong at least once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import Rng
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.languages.automata.search import numbered_graph
from lengthwise.languages.words.sampling import sample_words

Words = Int[ndarray, "B N"]


@dataclass(frozen=True)
class WindowPairs:
    """Pairs of words ``left[i]``, ``right[i]`` (``[pairs, length]``) that agree on the ``window`` symbols before
    ``positions[i]`` and need different answers there.
    """

    left: Words
    right: Words
    positions: Int[ndarray, " pairs"]
    window: int


def between(dfa: Dfa, source: int, targets: frozenset[int] | set[int]) -> Dfa:
    """The words that lead from one state to one of others, as an automaton (not minimal)."""
    order = [source, *[state for state in range(dfa.size) if state != source]]
    number = {old: new for new, old in enumerate(order)}
    rows = tuple(tuple(number[target] for target in dfa.delta[old]) for old in order)
    return Dfa(dfa.alphabet, rows, tuple(old in targets for old in order))


def window_pairs(
    dfa: Dfa, window: int, length: int, size: int, rng: Rng, *, answer: Literal["next", "member"] = "next"
) -> WindowPairs:
    """Pairs of words on which every function of the last ``window`` symbols errs at least once.

    With ``next`` both words are in the language, and the sets of allowed next symbols differ at a random position; with
    ``member`` one word is in the language, the other is not, and the position is the end. A pair of states with the
    same window is drawn uniformly, then uniform words through it.
    Raises `LengthwiseError` if windows of this size determine every answer at this length.
    """
    require(1 <= window <= length, f"a window of {window} symbols needs a length of at least that, got {length}")
    pairs = _PairGraph(dfa, answer)
    options = pairs.options(window, length)
    if not options:
        raise LengthwiseError(
            f"the last {window} symbols determine the answer at length {length}; choose a smaller window"
        )
    left, right = np.empty((size, length), dtype=np.int64), np.empty((size, length), dtype=np.int64)
    drawn = rng.integers(len(options), size=size)
    positions = np.array([options[index][0] for index in drawn], dtype=np.int64)
    for index in np.unique(drawn):
        rows = np.flatnonzero(drawn == index)
        position, before, after = options[index]
        shared = sample_words(pairs.automaton(before, after), window, len(rows), rng)
        for side, words in ((0, left), (1, right)):
            head = sample_words(between(dfa, 0, {before[side]}), position - window, len(rows), rng)
            tail = sample_words(between(dfa, after[side], pairs.goals(side)), length - position, len(rows), rng)
            words[rows] = np.concatenate([head, shared, tail], axis=1)
    return WindowPairs(left, right, positions, window)


class _PairGraph:
    """Two runs of an automaton on the same window, from and to different states."""

    def __init__(self, dfa: Dfa, answer: Literal["next", "member"]) -> None:
        self.dfa, self.answer = dfa, answer
        finals = {state for state, flag in enumerate(dfa.accepting) if flag}
        self.finals = (finals, finals if answer == "next" else set(range(dfa.size)) - finals)
        if answer == "next":
            labels = [(tuple(dfa.live[target] for target in dfa.delta[q]), dfa.accepting[q]) for q in range(dfa.size)]
            live = [state for state in range(dfa.size) if dfa.live[state]]
            self.ends = {(p, q) for p in live for q in live if labels[p] != labels[q]}
        else:
            self.ends = {(p, q) for p in self.finals[0] for q in self.finals[1]}

    def goals(self, side: int) -> set[int]:
        """The states in which the word of one side has to end."""
        return self.finals[side]

    def options(self, window: int, length: int) -> list[tuple[int, tuple[int, int], tuple[int, int]]]:
        """The triples (position, states before the window, states after it) that words of the length can realize."""
        last = length + 1
        positions = range(window, last) if self.answer == "next" else range(length, last)
        heads = reached(self.dfa, length)
        completing = [self._completing(self.finals[side], length) for side in (0, 1)]
        after = {pair: self._after(pair, window) for pair in self._sources(window)}
        found: list[tuple[int, tuple[int, int], tuple[int, int]]] = []
        for position in positions:
            for pair, ends in after.items():
                if pair[0] not in heads[position - window] or pair[1] not in heads[position - window]:
                    continue
                for end in sorted(ends):
                    if all(end[side] in completing[side][length - position] for side in (0, 1)):
                        found.append((position, pair, end))
        return found

    def automaton(self, before: tuple[int, int], after: tuple[int, int]) -> Dfa:
        """The words that lead from one pair of states to another."""
        delta = self.dfa.delta
        pairs, rows = numbered_graph(before, lambda pair: zip(delta[pair[0]], delta[pair[1]], strict=True))
        return Dfa(self.dfa.alphabet, rows, tuple(pair == after for pair in pairs))

    def _completing(self, goals: set[int], length: int) -> list[set[int]]:
        """The states from which 0, 1, …, ``length`` symbols can lead to one of ``goals``."""
        layers = [goals]
        for _ in range(length):
            layers.append(
                {q for q in range(self.dfa.size) if any(target in layers[-1] for target in self.dfa.delta[q])}
            )
        return layers

    def _sources(self, window: int) -> list[tuple[int, int]]:
        """Pairs from which some word of exactly that length leads to a pair with different answers."""
        current = set(self.ends)
        for _ in range(window):
            current = {
                (p, q)
                for p in range(self.dfa.size)
                for q in range(self.dfa.size)
                if any(pair in current for pair in zip(self.dfa.delta[p], self.dfa.delta[q], strict=True))
            }
        return sorted(current)

    def _after(self, pair: tuple[int, int], window: int) -> set[tuple[int, int]]:
        current = {pair}
        for _ in range(window):
            current = {t for p, q in current for t in zip(self.dfa.delta[p], self.dfa.delta[q], strict=True)}
        return current & self.ends


def reached(dfa: Dfa, length: int) -> list[set[int]]:
    """The states after exactly 0, 1, …, ``length`` symbols."""
    layers = [{0}]
    for _ in range(length):
        layers.append({target for state in layers[-1] for target in dfa.delta[state]})
    return layers
