"""Draws random heads, keeps those that are exact at a length, and counts which of them fail at longer ones.

Exactness at a length is decided over *all* admissible strings of that length. The output of a local head depends only
on the counts of tuple types, so checking many heads at once is a product of two matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from lengthwise.core.rng import Rng
from lengthwise.sparsity.heads.attention import TupleTypes
from lengthwise.sparsity.heads.theorem import Setting, Strings, admissible

GRAIN = 8
"""Tables are multiples of 1/8 up to 64, so that sums over a string are exact in float32 and ``== 0`` means zero."""


def planted_label(setting: Setting) -> Int[ndarray, " N"]:
    """g* of every tuple type that can be S* itself, and -1 for all others."""
    types, result = setting.types, np.full(setting.types.size, -1)
    for pattern, (word, label) in product(setting.patterns, zip(setting.words, setting.labels, strict=True)):
        if pattern in types.patterns:
            result[types.index(pattern, word)] = label
    return result


class Exactness:
    """Decides, for many table heads at once, which are exact on every one of the given strings.

    Strings with the same counts and label are one row, because every table head agrees on them.
    """

    def __init__(self, strings: Strings, types: TupleTypes, classes: int) -> None:
        counts = types.counts(strings.tokens)
        both = np.unique(np.column_stack([counts, strings.labels]), axis=0)
        # In a fixed random order most wrong heads fail on the first rows, and only the others reach the rest.
        both = np.random.default_rng(0).permutation(both)
        self.counts: Float[ndarray, "R N"] = both[:, :-1].astype(np.float32)
        self.labels: Int[ndarray, " R"] = both[:, -1]
        self.classes = classes
        self.strings = len(strings.labels)

    def __call__(self, weights: Float[ndarray, "H N"], votes: Float[ndarray, "H N Y"]) -> Bool[ndarray, " H"]:
        """Whether the denominator is positive and h(X) equals the one-hot label on every string.

        The check is exact where the tables are multiples of 1/8 of size at most 64.
        """
        for name, table in (("weights", weights), ("votes", votes)):
            good = bool((np.abs(table) <= 64).all() and (table * GRAIN == np.rint(table * GRAIN)).all())
            assert good, f"{name} must be multiples of 1/{GRAIN} of size at most 64, so that the check is exact"
        alive = np.arange(len(weights))
        weights, weighted = weights.astype(np.float32), (weights[..., None] * votes).astype(np.float32)
        step = 32
        for start in (0, *range(step, len(self.labels), 512)):
            stop = step if start == 0 else start + 512
            counts, labels = self.counts[start:stop], self.labels[start:stop]
            denominator = weights[alive] @ counts.T
            good = (denominator > 0).all(axis=1)
            for y in range(self.classes):
                numerator = weighted[alive, :, y] @ counts.T
                good &= (numerator == denominator * (labels == y)).all(axis=1)
            alive = alive[good]
        result = np.zeros(len(weights), dtype=bool)
        result[alive] = True
        return result


@dataclass(frozen=True)
class TheoremCheck:
    """Counts of one random test of Theorem A; the theorem implies ``violations == 0``."""

    length: int
    longer: tuple[int, ...]
    strings: int
    heads: int
    exact: int
    exact_with_unplanted: int
    violations: int


def check_theorem_a(
    setting: Setting, heads: int, rng: Rng, *, length: int | None = None, beyond: tuple[int, ...] = (1, 2)
) -> TheoremCheck:
    """Draw random heads until ``heads`` of them are exact at ``length``; count those that fail at longer lengths.

    ``exact_with_unplanted`` counts exact heads with positive weight on a tuple type that occurs in some admissible
    string but is never S*. ``length`` is 2(λ + 1) unless given. Gives up after 400 rounds of 4,096 heads.
    """
    length = length or setting.sufficient_length
    longer = tuple(length + more for more in beyond)
    types = setting.types
    short = Exactness(admissible(setting, length), types, setting.classes)
    long = [Exactness(admissible(setting, n), types, setting.classes) for n in longer]
    unplanted = (short.counts > 0).any(axis=0) & (planted_label(setting) < 0)
    drawn = exact = with_unplanted = violations = 0
    for _ in range(400):
        weights, votes = random_heads(setting, 4096, rng, short)
        kept = np.flatnonzero(short(weights, votes))[: heads - exact]
        weights, votes = weights[kept], votes[kept]
        holds = np.ones(len(kept), dtype=bool)
        for check in long:
            holds &= check(weights, votes)
        drawn, exact, violations = drawn + 4096, exact + len(kept), violations + int((~holds).sum())
        with_unplanted += int((weights[:, unplanted] > 0).any(axis=1).sum())
        if exact >= heads:
            break
    return TheoremCheck(length, longer, short.strings, drawn, exact, with_unplanted, violations)


def random_heads(setting: Setting, count: int, rng: Rng, short: Exactness) -> tuple[ndarray, ndarray]:
    """Weights ``[H, N]`` in 0..4 and votes ``[H, N, Y]`` on and off the corners of the simplex.

    Planted types mostly vote their label. Other types get weight with a probability drawn per head. In half of the
    heads they mostly vote a label that they occur with; otherwise exact heads with unplanted weight would be too rare.
    """
    planted, types = planted_label(setting), setting.types
    seen = np.stack([(short.counts[short.labels == y] > 0).any(axis=0) for y in range(setting.classes)], axis=1)
    size = (count, types.size)
    stray = rng.choice([0.0, 0.01, 0.03, 0.1, 0.3], size=(count, 1))
    lean = rng.random((count, 1)) < 0.5
    # Types that occur with several labels cannot be exact; these heads omit most of them.
    hopeless = (seen.sum(axis=1) > 1) & (planted < 0)
    stray = np.where(lean & hopeless, stray * 0.02, stray)
    positive = np.where(planted >= 0, rng.random(size) < 0.98, rng.random(size) < stray)
    weights = np.where(positive, rng.integers(1, 5, size=size), 0).astype(np.float64)
    label = rng.integers(setting.classes, size=size)
    label = np.where(lean & (seen.sum(axis=1) == 1), seen.argmax(axis=1), label)
    flipped = rng.random(size) < 0.001
    label = np.where((planted >= 0) & ~flipped, planted, label)
    votes = np.eye(setting.classes)[label]
    mixed = (rng.random(size) < 0.01) & (planted < 0)
    return weights, np.where(mixed[..., None], 0.5 * votes + 0.5 * np.roll(votes, 1, axis=-1), votes)
