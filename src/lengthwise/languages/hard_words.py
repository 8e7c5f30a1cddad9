"""Words that are hard to tell apart: edges of a language, and pairs that a window cannot separate."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import Rng
from lengthwise.languages.automaton import Dfa, numbered_graph
from lengthwise.languages.sampling import count_words, sample_words

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


def pumped_words(dfa: Dfa, length: int, size: int, rng: Rng, *, loop: int = 4, member: bool = True) -> Words:
    """Words u·xʳ·z of exactly ``length`` symbols whose bulk is one loop x of at most ``loop`` symbols, repeated.

    The state and the length of the loop are drawn uniformly among those that fit, then u, x and z uniformly; u and z
    are as short as the length allows. ``member=False`` gives words outside the language.
    Raises `LengthwiseError` if no loop fits.
    """
    goals = {state for state, flag in enumerate(dfa.accepting) if flag == member}
    plans: list[tuple[int, int, int, int]] = []  # state, |x|, |u|, |z|
    short = min(length, dfa.size + loop)
    for state in range(dfa.size):
        heads = [n for n in range(short + 1) if count_words(between(dfa, 0, {state}), n)]
        tails = [n for n in range(short + 1) if count_words(between(dfa, state, goals), n)]
        for period in range(1, loop + 1):
            fits = [(h, t) for h in heads for t in tails if length - h - t > 0 and (length - h - t) % period == 0]
            if fits and count_words(between(dfa, state, {state}), period):
                plans.append((state, period, *min(fits, key=sum)))
    if not plans:
        raise LengthwiseError(
            f"no loop of at most {loop} symbols fits in words of length {length}; raise loop or length"
        )
    words = np.empty((size, length), dtype=np.int64)
    drawn = rng.integers(len(plans), size=size)
    for index in np.unique(drawn):
        state, period, head, tail = plans[index]
        rows = np.flatnonzero(drawn == index)
        repeats = (length - head - tail) // period
        parts = [
            sample_words(between(dfa, 0, {state}), head, len(rows), rng),
            np.tile(sample_words(between(dfa, state, {state}), period, len(rows), rng), (1, repeats)),
            sample_words(between(dfa, state, goals), tail, len(rows), rng),
        ]
        words[rows] = np.concatenate(parts, axis=1)
    return words


def boundary_words(dfa: Dfa, length: int, size: int, rng: Rng) -> Words:
    """Words of the language that pass through a state as far from acceptance as words of that length can get.

    For D_n this state has depth n; for a counter language it has the largest count of that length. The time of the
    visit is uniform, and so are the two halves. Raises `LengthwiseError` if the language has no word of that length.
    """
    distances = _distances(dfa)
    finals = {state for state, flag in enumerate(dfa.accepting) if flag}
    layers = reached(dfa, length)
    visits = [
        (distance, state, step)
        for state, distance in distances.items()
        for step in range(length + 1)
        if state in layers[step] and distance <= length - step
        if count_words(between(dfa, state, finals), length - step)
    ]
    if not visits:
        raise LengthwiseError(f"the language has no word of length {length}; choose among lengths_with_words")
    farthest = max(distance for distance, _, _ in visits)
    options = [(state, step) for distance, state, step in visits if distance == farthest]
    words = np.empty((size, length), dtype=np.int64)
    drawn = rng.integers(len(options), size=size)
    for index in np.unique(drawn):
        state, step = options[index]
        rows = np.flatnonzero(drawn == index)
        head = sample_words(between(dfa, 0, {state}), step, len(rows), rng)
        tail = sample_words(between(dfa, state, finals), length - step, len(rows), rng)
        words[rows] = np.concatenate([head, tail], axis=1)
    return words


def _distances(dfa: Dfa) -> dict[int, int]:
    """Shortest completion of every live state."""
    current = {state for state, flag in enumerate(dfa.accepting) if flag}
    distances = dict.fromkeys(current, 0)
    while current:
        layer = {q for q in range(dfa.size) if q not in distances and any(t in current for t in dfa.delta[q])}
        distances.update(dict.fromkeys(layer, 1 + max(distances.values())))
        current = layer
    return distances


def hard_words(dfa: Dfa, length: int, size: int, rng: Rng) -> npt.NDArray[np.int64]:
    """``size`` words ``[size, length]`` of the language on which shortcuts fail.

    Where the language has them, they are `window_pairs` with a window of ``length // 2``. Otherwise half are
    `pumped_words` and half `boundary_words`. Raises `LengthwiseError` if the language has no word of that length.
    """
    if length >= 2:
        # Raises where a window of that size determines every answer.
        with suppress(LengthwiseError):
            pairs = window_pairs(dfa, length // 2, length, -(-size // 2), rng)
            return np.stack([pairs.left, pairs.right], axis=1).reshape(-1, length)[:size]
    words = boundary_words(dfa, length, size, rng)
    # Raises where no loop fits; then all are boundary words.
    with suppress(LengthwiseError):
        words[::2] = pumped_words(dfa, length, len(words[::2]), rng)
    return words
