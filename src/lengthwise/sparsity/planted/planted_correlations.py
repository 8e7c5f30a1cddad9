"""Planted correlations: strings whose label is a function of k planted tokens (Golowich et al. 2025, Definition 3.2).

`Planted` draws the relevant positions S* from Q_pos, their tokens from Q_voc, every other token from μ, and labels the
string with g*(X_{S*}). Placements (Q_pos) and labels (g*) are registered components.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.config import config
from lengthwise.core.errors import require
from lengthwise.core.rng import Rng
from lengthwise.sparsity.planted.labels import Label, ParityLabel
from lengthwise.sparsity.planted.placements import Local, Placement, Uniform


@config
class WordDistribution:
    """Q_voc: the distribution of the k relevant tokens, given either by ``symbols`` or by ``listed``.

    Each token is uniform over ``symbols``, or whole words (tuples of k tokens) are drawn from ``listed`` with
    ``probabilities`` (uniform if empty). Raises `ValueError` for both, neither, or bad probabilities.
    """

    symbols: tuple[int, ...] = ()
    listed: tuple[tuple[int, ...], ...] = ()
    probabilities: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.symbols) == bool(self.listed):
            raise ValueError("words need either symbols or a list of words, not both and not neither")
        if self.probabilities and len(self.probabilities) != len(self.listed):
            raise ValueError(f"{len(self.listed)} words need as many probabilities, got {len(self.probabilities)}")
        if self.probabilities and not np.isclose(sum(self.probabilities), 1):
            raise ValueError(f"word probabilities must sum to 1, got {sum(self.probabilities):.6g}")
        if any(p < 0 for p in self.probabilities):
            raise ValueError("word probabilities must not be negative")

    def sample(self, size: int, k: int, rng: Rng) -> Int[ndarray, "B k"]:
        """``size`` words."""
        if self.symbols:
            return np.asarray(self.symbols)[rng.integers(len(self.symbols), size=(size, k))]
        return np.asarray(self.listed)[rng.choice(len(self.listed), size=size, p=self.probabilities or None)]

    def support(self, k: int) -> Int[ndarray, "W k"]:
        """Every word of positive probability, each once."""
        if self.symbols:
            grid = np.meshgrid(*[np.unique(self.symbols)] * k, indexing="ij")
            return np.stack(grid, axis=-1).reshape(-1, k)
        kept = [w for i, w in enumerate(self.listed) if not self.probabilities or self.probabilities[i] > 0]
        return np.unique(np.asarray(kept), axis=0)


@dataclass(frozen=True)
class PlantedStrings:
    """B strings of one length with their labels and relevant positions (increasing)."""

    tokens: Int[ndarray, "B T"]
    labels: Int[ndarray, " B"]
    relevant: Int[ndarray, "B k"]


@config
class Planted:
    """A k-sparse planted distribution for every length.

    ``background`` is μ, one probability per token of the alphabet. ``values`` maps every token to its value in g*.
    `Planted.marked` builds the usual case. Raises `ValueError` for parts that do not fit together.
    """

    placement: Placement
    words: WordDistribution
    background: tuple[float, ...]
    values: tuple[int, ...]
    label: Label = ParityLabel()

    def __post_init__(self) -> None:
        if not np.isclose(sum(self.background), 1) or min(self.background, default=0) < 0:
            raise ValueError(f"background probabilities must be at least 0 and sum to 1, got {self.background}")
        if len(self.values) != self.alphabet or min(self.values) < 0:
            raise ValueError(f"each of the {self.alphabet} tokens needs one value of at least 0, got {self.values}")
        if any(len(word) != self.k for word in self.words.listed):
            raise ValueError(f"every listed word needs k = {self.k} tokens")
        foreign = [t for t in (*self.words.symbols, *sum(self.words.listed, ())) if not 0 <= t < self.alphabet]
        if foreign:
            raise ValueError(f"token {foreign[0]} is outside the alphabet 0..{self.alphabet - 1}")
        self.label.check(self.k, max(self.values) + 1)

    @classmethod
    def marked(
        cls,
        k: int,
        *,
        span: int | None = None,
        values: int = 2,
        label: Label | None = None,
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
            label=label or ParityLabel(),
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
        return self.label.classes(self.k, max(self.values) + 1)

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
