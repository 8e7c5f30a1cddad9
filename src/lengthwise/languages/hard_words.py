"""Words that are hard to tell apart: edges of a language, and pairs that a window cannot separate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import Rng
from lengthwise.languages.automaton import Dfa, numbered_graph, rooted
from lengthwise.languages.sampling import count_words, sample_words

Words = Int[ndarray, "B N"]
States = frozenset[int] | set[int]
T = TypeVar("T")
LOOP = 4
"""The most symbols of a loop."""


@dataclass(frozen=True)
class WindowPairs:
    """Pairs of words ``left[i]``, ``right[i]`` (``[pairs, length]``) that agree on the ``window`` symbols before
    ``positions[i]`` and need different answers there.
    """

    left: Words
    right: Words
    positions: Int[ndarray, " pairs"]
    window: int


def between(dfa: Dfa, source: int, targets: States) -> Dfa:
    """The words that lead from one state to one of others, as an automaton (not minimal)."""
    return rooted(dfa.alphabet, dfa.delta, targets, source)


def _finals(dfa: Dfa) -> set[int]:
    return {state for state, flag in enumerate(dfa.accepting) if flag}


def _drawn(options: Sequence[T], size: int, rng: Rng) -> Iterator[tuple[T, npt.NDArray[np.int_]]]:
    """Draw an option for each row; yield each option that was drawn, and its rows."""
    drawn = rng.integers(len(options), size=size)
    for index in np.unique(drawn):
        yield options[index], np.flatnonzero(drawn == index)


def window_pairs(dfa: Dfa, window: int, length: int, size: int, rng: Rng) -> WindowPairs:
    """Pairs of words on which every function of the last ``window`` symbols errs at least once.

    Both words are in the language, and the sets of allowed next symbols differ at a random position. A pair of states
    with the same window is drawn uniformly, then uniform words through it.
    Raises `LengthwiseError` if windows of this size determine every answer at this length.
    """
    require(1 <= window <= length, f"a window of {window} symbols needs a length of at least that, got {length}")
    options = _window_options(dfa, window, length)
    what = f"the last {window} symbols determine the answer at length {length}"
    require(len(options) > 0, f"{what}; choose a smaller window")
    left, right = np.empty((size, length), dtype=np.int64), np.empty((size, length), dtype=np.int64)
    positions = np.empty(size, dtype=np.int64)
    for (position, before, after), rows in _drawn(options, size, rng):
        positions[rows] = position
        pairs, delta = numbered_graph(before, lambda pair: zip(dfa.delta[pair[0]], dfa.delta[pair[1]], strict=True))
        through = Dfa(dfa.alphabet, delta, tuple(pair == after for pair in pairs))
        shared = sample_words(through, window, len(rows), rng)
        for side, words in ((0, left), (1, right)):
            head = sample_words(between(dfa, 0, {before[side]}), position - window, len(rows), rng)
            tail = sample_words(between(dfa, after[side], _finals(dfa)), length - position, len(rows), rng)
            words[rows] = np.concatenate([head, shared, tail], axis=1)
    return WindowPairs(left, right, positions, window)


def _window_options(dfa: Dfa, window: int, length: int) -> list[tuple[int, tuple[int, int], tuple[int, int]]]:
    """The triples (position, states before the window, states after it) that words of the length can realize."""
    labels = [(tuple(dfa.live[target] for target in row), dfa.accepting[q]) for q, row in enumerate(dfa.delta)]
    live = [state for state in range(dfa.size) if dfa.live[state]]
    ends = {(p, q) for p, q in product(live, repeat=2) if labels[p] != labels[q]}
    step = {(p, q): set(zip(dfa.delta[p], dfa.delta[q], strict=True)) for p, q in product(range(dfa.size), repeat=2)}
    sources = ends
    for _ in range(window):
        sources = {pair for pair, targets in step.items() if targets & sources}
    after: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for pair in sorted(sources):
        current = {pair}
        for _ in range(window):
            current = {target for node in current for target in step[node]}
        after[pair] = sorted(current & ends)
    heads = reached(dfa, length)
    completing = [_finals(dfa)]  # the states from which 0, 1, … symbols can lead to acceptance
    for _ in range(length):
        completing.append({q for q, row in enumerate(dfa.delta) if any(target in completing[-1] for target in row)})
    return [
        (position, pair, end)
        for position in range(window, length + 1)
        for pair, found in after.items()
        if all(state in heads[position - window] for state in pair)
        for end in found
        if all(state in completing[length - position] for state in end)
    ]


def reached(dfa: Dfa, length: int) -> list[set[int]]:
    """The states after exactly 0, 1, …, ``length`` symbols."""
    layers = [{0}]
    for _ in range(length):
        layers.append({target for state in layers[-1] for target in dfa.delta[state]})
    return layers


def pumped_words(dfa: Dfa, length: int, size: int, rng: Rng) -> Words:
    """Words u·xʳ·z of exactly ``length`` symbols whose bulk is one loop x of at most `LOOP` symbols, repeated.

    The state and the length of the loop are drawn uniformly among those that fit, then u, x and z uniformly; u and z
    are as short as the length allows. Raises `LengthwiseError` if no loop fits.
    """
    goals = _finals(dfa)
    plans: list[tuple[int, int, int, int]] = []  # state, |x|, |u|, |z|
    short = min(length, dfa.size + LOOP)
    for state in range(dfa.size):
        heads = [n for n in range(short + 1) if count_words(between(dfa, 0, {state}), n)]
        tails = [n for n in range(short + 1) if count_words(between(dfa, state, goals), n)]
        for period in range(1, LOOP + 1):
            fits = [(h, t) for h in heads for t in tails if length - h - t > 0 and (length - h - t) % period == 0]
            if fits and count_words(between(dfa, state, {state}), period):
                plans.append((state, period, *min(fits, key=sum)))
    require(len(plans) > 0, f"no loop of at most {LOOP} symbols fits in words of length {length}; raise the length")
    words = np.empty((size, length), dtype=np.int64)
    for (state, period, head, tail), rows in _drawn(plans, size, rng):
        first = sample_words(between(dfa, 0, {state}), head, len(rows), rng)
        bulk = sample_words(between(dfa, state, {state}), period, len(rows), rng)
        last = sample_words(between(dfa, state, goals), tail, len(rows), rng)
        repeats = (length - head - tail) // period
        words[rows] = np.concatenate([first, np.tile(bulk, (1, repeats)), last], axis=1)
    return words


def boundary_words(dfa: Dfa, length: int, size: int, rng: Rng) -> Words:
    """Words of the language that pass through a state as far from acceptance as words of that length can get.

    For D_n this state has depth n; for a counter language it has the largest count of that length. The time of the
    visit is uniform, and so are the two halves. Raises `LengthwiseError` if the language has no word of that length.
    """
    current = finals = _finals(dfa)
    distances = dict.fromkeys(finals, 0)  # the shortest completion of every live state
    while current:
        layer = {q for q in range(dfa.size) if q not in distances and any(t in current for t in dfa.delta[q])}
        distances.update(dict.fromkeys(layer, 1 + max(distances.values())))
        current = layer
    layers = reached(dfa, length)
    visits = [
        (distance, state, step)
        for state, distance in distances.items()
        for step in range(length + 1)
        if state in layers[step] and distance <= length - step
        if count_words(between(dfa, state, finals), length - step)
    ]
    require(bool(visits), f"the language has no word of length {length}; choose among lengths_with_words")
    farthest = max(distance for distance, _, _ in visits)
    options = [(state, step) for distance, state, step in visits if distance == farthest]
    words = np.empty((size, length), dtype=np.int64)
    for (state, step), rows in _drawn(options, size, rng):
        head = sample_words(between(dfa, 0, {state}), step, len(rows), rng)
        tail = sample_words(between(dfa, state, finals), length - step, len(rows), rng)
        words[rows] = np.concatenate([head, tail], axis=1)
    return words


def half_pairs(dfa: Dfa, length: int, size: int, rng: Rng) -> Words | None:
    """``size`` words of `window_pairs` with a window of ``length // 2``, pair by pair; None where there are none."""
    try:
        pairs = window_pairs(dfa, length // 2, length, -(-size // 2), rng)
    except LengthwiseError:
        return None
    return np.stack([pairs.left, pairs.right], axis=1).reshape(-1, length)[:size]


def hard_words(dfa: Dfa, length: int, size: int, rng: Rng) -> npt.NDArray[np.int64]:
    """``size`` words ``[size, length]`` of the language on which shortcuts fail.

    They are `half_pairs` where the language has them. Otherwise half are `pumped_words` and half `boundary_words`.
    Raises `LengthwiseError` if the language has no word of that length.
    """
    if (pairs := half_pairs(dfa, length, size, rng)) is not None:
        return pairs
    words = boundary_words(dfa, length, size, rng)
    # Raises where no loop fits; then all are boundary words.
    with suppress(LengthwiseError):
        words[::2] = pumped_words(dfa, length, len(words[::2]), rng)
    return words
