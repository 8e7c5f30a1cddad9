"""Placements Q_pos: distributions of the positions S* of the relevant tokens of a planted string."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb
from typing import ClassVar

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.bounds import AtLeast1
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.registry import Registry
from lengthwise.core.rng import Rng

Offsets = tuple[int, ...]
"""The shape of a k-tuple of positions: their distances from the first one, so ``(0, 2, 3)`` for positions 7, 9, 10."""


def offset_patterns(k: int, span: int) -> tuple[Offsets, ...]:
    """All C(span, k - 1) shapes with distances up to ``span``, the short ones first."""
    require(k >= 1, f"a tuple has at least one token, got k = {k}; use k >= 1")
    shapes = [(0, *rest) for rest in combinations(range(1, span + 1), k - 1)]
    return tuple(sorted(shapes, key=lambda shape: (shape[-1], shape)))


class Placement(ABC):
    """A distribution over increasing k-tuples of positions 0..ℓ-1, for every length ℓ."""

    name: ClassVar[str]
    k: int

    @abstractmethod
    def sample(self, size: int, length: int, rng: Rng) -> Int[ndarray, "B k"]:
        """``size`` draws of S*, each increasing; raises `LengthwiseError` if none fits into ``length``."""

    @abstractmethod
    def patterns(self, length: int) -> tuple[Offsets, ...]:
        """The shapes that S* takes at ``length``."""

    def span(self, length: int) -> int:
        """The largest max S* - min S* at ``length``."""
        return max(shape[-1] for shape in self.patterns(length))


PLACEMENTS: Registry[Placement] = Registry("placement")


@PLACEMENTS.register("uniform")
class Uniform(Placement):
    """All k-subsets equally likely: not local, the span grows with the length."""

    k: AtLeast1

    def sample(self, size: int, length: int, rng: Rng) -> Int[ndarray, "B k"]:
        _fits(self.k - 1, length)
        keys = rng.random((size, length), dtype=np.float32)
        return np.sort(np.argpartition(keys, self.k - 1, axis=1)[:, : self.k], axis=1)

    def patterns(self, length: int) -> tuple[Offsets, ...]:
        return offset_patterns(self.k, length - 1)

    def span(self, length: int) -> int:
        return length - 1 if self.k > 1 else 0


@PLACEMENTS.register("local")
class Local(Placement):
    """All k-subsets of span at most ``max_span`` (the paper's L_local) equally likely."""

    k: int
    max_span: int

    def __post_init__(self) -> None:
        if self.k < 1 or self.max_span < self.k - 1:
            raise ValueError(f"k >= 1 tokens need max_span >= k - 1, got k = {self.k}, max_span = {self.max_span}")

    def sample(self, size: int, length: int, rng: Rng) -> Int[ndarray, "B k"]:
        """Draw min S* by the number of subsets that start there, then the others from the next ``max_span``."""
        _fits(self.k - 1, length)
        room = np.minimum(self.max_span, length - 1 - np.arange(length))
        starts = np.array([comb(int(r), self.k - 1) for r in room], dtype=np.float64)
        first = rng.choice(length, size=size, p=starts / starts.sum())
        keys = rng.random((size, self.max_span))
        keys[np.arange(self.max_span) >= room[first][:, None]] = 2.0
        rest = np.argsort(keys, axis=1)[:, : self.k - 1] + 1
        return np.sort(np.concatenate([np.zeros_like(first)[:, None], rest], axis=1), axis=1) + first[:, None]

    def patterns(self, length: int) -> tuple[Offsets, ...]:
        return offset_patterns(self.k, min(self.max_span, length - 1))


@PLACEMENTS.register("offsets")
class FixedOffsets(Placement):
    """One of the given shapes, equally likely, at a uniform position where it fits."""

    shapes: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not self.shapes or len({len(shape) for shape in self.shapes}) != 1:
            raise ValueError(f"shapes need one common number of tokens, got {self.shapes}")
        for shape in self.shapes:
            if not shape or shape[0] != 0 or any(b <= a for a, b in pairwise(shape)):
                raise ValueError(f"a shape starts at 0 and increases, got {shape}")

    @property
    def k(self) -> int:  # type: ignore[override]
        """Tokens of every shape."""
        return len(self.shapes[0])

    def sample(self, size: int, length: int, rng: Rng) -> Int[ndarray, "B k"]:
        fitting = self.patterns(length)
        if not fitting:
            _fits(min(shape[-1] for shape in self.shapes), length)
        shapes = np.asarray(fitting)[rng.integers(len(fitting), size=size)]
        return shapes + rng.integers(length - shapes[:, -1])[:, None]

    def patterns(self, length: int) -> tuple[Offsets, ...]:
        return tuple(shape for shape in self.shapes if shape[-1] < length)


@PLACEMENTS.register("strided")
class Strided(Placement):
    """The same position in each of k equal blocks: offsets ℓ/k, 2ℓ/k, …, so the span grows with the length.

    Under the coupling of `places`, which numbers every block alike, the span is 0.
    """

    k: AtLeast1

    def sample(self, size: int, length: int, rng: Rng) -> Int[ndarray, "B k"]:
        (shape,) = self.patterns(length)
        return rng.integers(length // self.k, size=size)[:, None] + np.array(shape)

    def patterns(self, length: int) -> tuple[Offsets, ...]:
        """The only shape at this length; raises `LengthwiseError` unless the length is a multiple of k."""
        require(length >= self.k and length % self.k == 0, f"strided S* needs a multiple of {self.k}, got {length}")
        return (tuple(range(0, length, length // self.k)),)

    def places(self, length: int) -> Int[ndarray, " T"]:
        """The places of the coupling: 1..ℓ/k in every block."""
        return np.tile(np.arange(1, length // self.k + 1), self.k)


@dataclass(frozen=True)
class UserPlacement(Placement):
    """The user's own S*: an array ``[N, k]`` to draw rows from, or a function ``f(size, length, rng) -> [size, k]``.

    It has no JSON form and so is for Python only. Rows of an array that do not fit into a length are not drawn there.
    """

    k: int
    source: ndarray | Callable[[int, int, Rng], ndarray]

    def sample(self, size: int, length: int, rng: Rng) -> Int[ndarray, "B k"]:
        """Draw rows; raises `LengthwiseError` unless they are increasing positions of shape ``[size, k]``."""
        if callable(self.source):
            drawn = np.asarray(self.source(size, length, rng))
        else:
            rows = self._fitting(length)
            drawn = rows[rng.integers(len(rows), size=size)]
        if drawn.shape != (size, self.k) or not np.issubdtype(drawn.dtype, np.integer):
            raise LengthwiseError(
                f"a placement gives integers of shape {(size, self.k)}, got {drawn.dtype} {drawn.shape}"
            )
        inside = (drawn >= 0).all() and (drawn < length).all() and (np.diff(drawn, axis=1) > 0).all()
        require(bool(inside), f"a placement gives increasing positions in 0..{length - 1}; check the given source")
        return drawn.astype(np.int64)

    def patterns(self, length: int) -> tuple[Offsets, ...]:
        """The shapes of the array's rows; raises `LengthwiseError` for a function."""
        if callable(self.source):
            raise LengthwiseError("the shapes of a placement given as a function are unknown; give an array of rows")
        rows = self._fitting(length)
        return tuple(sorted({tuple(int(i) for i in row - row[0]) for row in rows}, key=lambda s: (s[-1], s)))

    def _fitting(self, length: int) -> ndarray:
        rows = np.asarray(self.source)
        require(rows.ndim == 2 and rows.shape[1] == self.k, f"rows of a placement need {self.k} positions each")
        rows = rows[rows.max(axis=1) < length]
        require(len(rows) > 0, f"no given placement fits into length {length}; use a longer string")
        return rows


def _fits(span: int, length: int) -> None:
    require(length > span, f"the relevant tokens need length {span + 1} or more, got {length}; use a longer string")
