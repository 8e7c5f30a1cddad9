"""Draws words at the edge of a language: pumped loops, and words as far from acceptance as possible."""

from __future__ import annotations

import numpy as np

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import Rng
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.languages.words.adversarial import Words, between, reached
from lengthwise.languages.words.counting import count_words
from lengthwise.languages.words.sampling import sample_words


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
