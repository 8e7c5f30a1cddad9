"""Planted correlations in general: any placement, words and background; the task `planted` has the usual ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
from jaxtyping import Int
from numpy import ndarray

import lengthwise as lw

require, reject = lw.core.errors.require, lw.core.errors.reject
draws = lw.tasks.planted
Rng = lw.core.rng.Rng

Offsets = tuple[int, ...]
"""The shape of a k-tuple of positions: their distances from the first one, so ``(0, 2, 3)`` for positions 7, 9, 10."""


def offset_patterns(k: int, span: int) -> tuple[Offsets, ...]:
    """All C(span, k - 1) shapes with distances up to ``span``, the short ones first."""
    require(k >= 1, f"a tuple has at least one token, got k = {k}; use k >= 1")
    shapes = [(0, *rest) for rest in combinations(range(1, span + 1), k - 1)]
    return tuple(sorted(shapes, key=lambda shape: (shape[-1], shape)))


class Placement(ABC):
    """A distribution over increasing k-tuples of positions 0..ℓ-1, for every length ℓ."""

    k: int

    @abstractmethod
    def sample(self, size: int, length: int, rng: Rng) -> Int[ndarray, "B k"]:
        """``size`` draws of S*, each increasing; raises `LengthwiseError` if none fits into ``length``."""

    @abstractmethod
    def patterns(self, length: int) -> tuple[Offsets, ...]:
        """The shapes that S* takes at ``length``."""


@lw.config
class Uniform(Placement):
    """All k-subsets equally likely: not local, the span grows with the length."""

    k: lw.core.config.AtLeast1

    def sample(self, size: int, length: int, rng: Rng) -> Int[ndarray, "B k"]:
        _fits(self.k - 1, length)
        return draws.positions_anywhere(self.k, length, size, rng)

    def patterns(self, length: int) -> tuple[Offsets, ...]:
        return offset_patterns(self.k, length - 1)


@lw.config
class Local(Placement):
    """All k-subsets of span at most ``max_span`` (the paper's L_local) equally likely."""

    k: int
    max_span: int

    def __post_init__(self) -> None:
        given = f"got k = {self.k}, max_span = {self.max_span}"
        reject(self.k < 1 or self.max_span < self.k - 1, f"k >= 1 tokens need max_span >= k - 1, {given}")

    def sample(self, size: int, length: int, rng: Rng) -> Int[ndarray, "B k"]:
        _fits(self.k - 1, length)
        return draws.positions_within(self.max_span, self.k, length, size, rng)

    def patterns(self, length: int) -> tuple[Offsets, ...]:
        return offset_patterns(self.k, min(self.max_span, length - 1))


@lw.config
class FixedOffsets(Placement):
    """One of the given shapes, equally likely, at a uniform position where it fits."""

    shapes: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        sizes = {len(shape) for shape in self.shapes}
        reject(len(sizes) != 1, f"shapes need one common number of tokens, got {self.shapes}")
        for shape in self.shapes:
            wrong = not shape or shape[0] != 0 or any(b <= a for a, b in pairwise(shape))
            reject(wrong, f"a shape starts at 0 and increases, got {shape}")

    @property
    def k(self) -> int:  # type: ignore[override]
        """Tokens of every shape."""
        return len(self.shapes[0])

    def sample(self, size: int, length: int, rng: Rng) -> Int[ndarray, "B k"]:
        _fits(min(shape[-1] for shape in self.shapes), length)
        return draws.positions_of(self.shapes, length, size, rng)

    def patterns(self, length: int) -> tuple[Offsets, ...]:
        return tuple(shape for shape in self.shapes if shape[-1] < length)


@lw.config
class Strided(Placement):
    """The same position in each of k equal blocks: offsets ℓ/k, 2ℓ/k, …, so the span grows with the length.

    Under the coupling of `places`, which numbers every block alike, the span is 0.
    """

    k: lw.core.config.AtLeast1

    def sample(self, size: int, length: int, rng: Rng) -> Int[ndarray, "B k"]:
        self.patterns(length)
        return draws.positions_strided(self.k, length, size, rng)

    def patterns(self, length: int) -> tuple[Offsets, ...]:
        """The only shape at this length; raises `LengthwiseError` unless the length is a multiple of k."""
        require(length >= self.k and length % self.k == 0, f"strided S* needs a multiple of {self.k}, got {length}")
        return (tuple(range(0, length, length // self.k)),)

    def places(self, length: int) -> Int[ndarray, " T"]:
        """The places of the coupling: 1..ℓ/k in every block."""
        return np.tile(np.arange(1, length // self.k + 1), self.k)


def _fits(span: int, length: int) -> None:
    require(length > span, f"the relevant tokens need length {span + 1} or more, got {length}; use a longer string")


@lw.config
class WordDistribution:
    """Q_voc: each of the k relevant tokens is uniform over ``symbols``, or whole words (k tokens) over ``listed``.

    Raises `ValueError` for both or neither.
    """

    symbols: tuple[int, ...] = ()
    listed: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        both = bool(self.symbols) == bool(self.listed)
        reject(both, "words need either symbols or a list of words, not both and not neither")

    def sample(self, size: int, k: int, rng: Rng) -> Int[ndarray, "B k"]:
        """``size`` words."""
        if self.symbols:
            return np.asarray(self.symbols)[rng.integers(len(self.symbols), size=(size, k))]
        return np.asarray(self.listed)[rng.choice(len(self.listed), size=size)]

    def support(self, k: int) -> Int[ndarray, "W k"]:
        """Every word of positive probability, each once."""
        if not self.symbols:
            return np.unique(np.asarray(self.listed), axis=0)
        grid = np.meshgrid(*[np.unique(self.symbols)] * k, indexing="ij")
        return np.stack(grid, axis=-1).reshape(-1, k)


@dataclass(frozen=True)
class PlantedStrings:
    """B strings of one length with their labels and relevant positions (increasing)."""

    tokens: Int[ndarray, "B T"]
    labels: Int[ndarray, " B"]
    relevant: Int[ndarray, "B k"]


@lw.config
class Planted:
    """A k-sparse planted distribution for every length.

    ``background`` is μ, one probability per token of the alphabet. ``values`` maps every token to its value in g*.
    `Planted.marked` builds the usual case. Raises `ValueError` for parts that do not fit together.
    """

    placement: Placement
    words: WordDistribution
    background: tuple[float, ...]
    values: tuple[int, ...]
    label: draws.Label = draws.ParityLabel()

    def __post_init__(self) -> None:
        background, size = self.background, self.alphabet
        shares = np.isclose(sum(background), 1) and min(background, default=0) >= 0
        reject(not shares, f"background probabilities must be at least 0 and sum to 1, got {background}")
        valued = len(self.values) == size and min(self.values) >= 0
        reject(not valued, f"each of the {size} tokens needs one value of at least 0, got {self.values}")
        whole = all(len(word) == self.k for word in self.words.listed)
        reject(not whole, f"every listed word needs k = {self.k} tokens")
        for token in (*self.words.symbols, *sum(self.words.listed, ())):
            reject(not 0 <= token < size, f"token {token} is outside the alphabet 0..{size - 1}")
        self.label.check(self.k, max(self.values) + 1)

    @classmethod
    def marked(
        cls,
        k: int,
        *,
        span: int | None = None,
        values: int = 2,
        label: draws.Label | None = None,
        placement: Placement | None = None,
    ) -> Planted:
        """Background tokens 0..m-1 and marked tokens m..2m-1 of values 0..m-1, all uniform, for m = ``values``.

        S* is uniform over all k-subsets, over those of span at most ``span``, or drawn by ``placement``.
        """
        if placement is None:
            placement = Uniform(k) if span is None else Local(k, span)
        return cls(
            placement=placement,
            words=WordDistribution(symbols=tuple(range(values, 2 * values))),
            background=(1 / values,) * values + (0.0,) * values,
            values=tuple(range(values)) * 2,
            label=label or draws.ParityLabel(),
        )

    @property
    def k(self) -> int:
        """Sparsity: the number of tokens that the label depends on."""
        return self.placement.k

    @property
    def alphabet(self) -> int:
        """|V|: the number of tokens of the alphabet."""
        return len(self.background)

    @property
    def classes(self) -> int:
        """Number of labels."""
        match self.label:
            case draws.SumMod(modulus=modulus):
                return modulus
            case draws.MajorityLabel():
                return max(self.values) + 1
            case draws.Lookup(table=table):
                return max(table) + 1
        return 2

    @cached_property
    def background_support(self) -> Int[ndarray, " n"]:
        """B, the tokens of positive background probability."""
        return np.flatnonzero(np.asarray(self.background))

    def label_of(self, words: Int[ndarray, "*B k"]) -> Int[ndarray, "*B"]:
        """g* of the tokens at the relevant positions."""
        return self.label(np.asarray(self.values)[words])

    def sample(self, size: int, length: int, rng: Rng) -> PlantedStrings:
        """``size`` independent strings of ``length``; raises `LengthwiseError` if S* does not fit."""
        require(size >= 1, f"a sample needs at least one string, got size {size}; use size 1 or more")
        relevant = self.placement.sample(size, length, rng)
        words = self.words.sample(size, self.k, rng)
        edges = np.cumsum(self.background)
        # The last edge is 1 up to rounding; clipping keeps a draw of 0.9999… inside the support.
        tokens = np.searchsorted(edges, rng.random((size, length)), side="right")
        tokens = np.minimum(tokens, self.background_support[-1]).astype(np.int64)
        np.put_along_axis(tokens, relevant, words, axis=1)
        return PlantedStrings(tokens, self.label_of(words), relevant)
