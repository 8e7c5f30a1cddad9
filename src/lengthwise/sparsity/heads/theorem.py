"""Tests Theorem A on random heads: exact at one length L ≥ 2(λ + 1) implies exact at every longer length.

The theorem and its proof are the project's own (``docs/sparsity.md``). The test decides exactness at a length by brute
force over *all* admissible strings of that length. The output of a local head depends only on the counts of tuple
types, so checking many heads at once is a product of two matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from lengthwise.core.errors import require
from lengthwise.core.rng import Rng
from lengthwise.sparsity.heads.attention import TupleTypes
from lengthwise.sparsity.planted.placements import Offsets
from lengthwise.sparsity.planted.planted_correlations import Planted

GRAIN = 8
"""Tables are multiples of 1/8 up to 64, so that sums over a string are exact in float32 and ``== 0`` means zero."""


@dataclass(frozen=True)
class Setting:
    """The strings of Theorem A: one planted word at an allowed position, background tokens from B elsewhere.

    ``words`` is the support of Q_voc and ``labels`` holds g* of each; ``patterns`` is O, the allowed offsets; ``span``
    is λ, the largest span at which the heads' weights may be positive.
    """

    alphabet: int
    background: tuple[int, ...]
    words: tuple[tuple[int, ...], ...]
    labels: tuple[int, ...]
    patterns: tuple[Offsets, ...]
    span: int

    @classmethod
    def of(cls, planted: Planted, span: int) -> Setting:
        """The setting of a planted distribution whose placement has the same patterns at all long enough lengths."""
        words = planted.words.support(planted.k)
        return cls(
            alphabet=planted.alphabet,
            background=tuple(int(t) for t in planted.background_support),
            words=tuple(tuple(int(t) for t in word) for word in words),
            labels=tuple(int(y) for y in planted.label_of(words)),
            patterns=planted.placement.patterns(2 * (span + 1)),
            span=span,
        )

    @property
    def k(self) -> int:
        """Sparsity."""
        return len(self.words[0])

    @property
    def classes(self) -> int:
        """Number of labels."""
        return max(self.labels) + 1

    @property
    def sufficient_length(self) -> int:
        """2(λ + 1), the length from which Theorem A holds."""
        return 2 * (self.span + 1)

    @property
    def types(self) -> TupleTypes:
        """The tuple types of the heads."""
        return TupleTypes.local(self.k, self.span, self.alphabet)

    def planted_label(self) -> Int[ndarray, " N"]:
        """g* of every tuple type that can be S* itself, and -1 for all others."""
        types, result = self.types, np.full(self.types.size, -1)
        for pattern, (word, label) in product(self.patterns, zip(self.words, self.labels, strict=True)):
            if pattern in types.patterns:
                result[types.index(pattern, word)] = label
        return result


@dataclass(frozen=True)
class Strings:
    """Distinct pairs of a string and its label."""

    tokens: Int[ndarray, "M T"]
    labels: Int[ndarray, " M"]


def admissible(setting: Setting, length: int) -> Strings:
    """A_ℓ: every pair (X, y) of a planted word at an allowed position with background tokens everywhere else.

    There are at most |O|·ℓ·|words|·|B|^(ℓ-k) of them; raises `LengthwiseError` beyond two million.
    """
    free = length - setting.k
    number = len(setting.patterns) * length * len(setting.words) * len(setting.background) ** max(free, 0)
    require(number <= 2_000_000, f"{number} strings of length {length} are too many; shorten it or shrink the alphabet")
    filling = np.array(list(product(setting.background, repeat=max(free, 0))), dtype=np.int64)
    filling = filling.reshape(len(setting.background) ** max(free, 0), max(free, 0))
    rows, labels = [], []
    for pattern in setting.patterns:
        for start in range(length - pattern[-1]):
            planted = [start + offset for offset in pattern]
            others = [i for i in range(length) if i not in planted]
            for word, label in zip(setting.words, setting.labels, strict=True):
                block = np.empty((len(filling), length), dtype=np.int64)
                block[:, others], block[:, planted] = filling, word
                rows.append(block)
                labels.append(np.full(len(block), label))
    require(bool(rows), f"no allowed pattern fits into length {length}; use a longer string")
    both = np.unique(np.column_stack([np.concatenate(rows), np.concatenate(labels)]), axis=0)
    return Strings(both[:, :length], both[:, length])


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

        Raises `LengthwiseError` unless the tables are multiples of 1/8 of size at most 64, where the check is exact.
        """
        for name, table in (("weights", weights), ("votes", votes)):
            good = bool((np.abs(table) <= 64).all() and (table * GRAIN == np.rint(table * GRAIN)).all())
            require(good, f"{name} must be multiples of 1/{GRAIN} of size at most 64, so that the check is exact")
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
    unplanted = (short.counts > 0).any(axis=0) & (setting.planted_label() < 0)
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
    planted, types = setting.planted_label(), setting.types
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
