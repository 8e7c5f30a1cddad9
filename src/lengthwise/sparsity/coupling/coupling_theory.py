"""Measures position ids: local coupling, super-tokens, and the ids of PoSE.

Ids are ``[B, T]`` and parents ``[B, T, P]`` (positions, -1 pads), so all functions apply to any task.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from lengthwise.core.errors import require
from lengthwise.core.rng import Rng


@dataclass(frozen=True)
class LocalCoupling:
    """The result of `check_local_coupling` (after Golowich et al. 2025, Definition 4.1).

    ``width`` is the largest distance between the places of two parents of one token. Of ``tokens`` with parents,
    ``violations`` exceed the window; ``unplaced`` counts parents without a place. ``tokens_per_place`` (c) and
    ``places`` (the number of places used) are maxima over sequences.
    """

    window: int
    width: int
    tokens: int
    violations: int
    unplaced: int
    tokens_per_place: int
    places: int

    @property
    def holds(self) -> bool:
        """Whether the parents of every token have places inside the window."""
        return self.violations == 0 and self.unplaced == 0


def check_local_coupling(
    places: Int[ndarray, "B T"], parents: Int[ndarray, "B T P"], window: int, scored: Bool[ndarray, " T"] | None = None
) -> LocalCoupling:
    """Check that the places of every token's parents lie within a window of width ``window``; place 0 is no place."""
    good = places.ndim == 2 and parents.ndim == 3 and parents.shape[:2] == places.shape
    require(good, f"places need shape [B, T] and parents [B, T, P], got {places.shape} and {parents.shape}")
    real = (parents >= 0) if scored is None else (parents >= 0) & scored[None, :, None]
    value = places[np.arange(len(places))[:, None, None], parents]
    is_placed = real & (value > 0)
    high = np.where(is_placed, value, np.iinfo(np.int64).min).max(axis=2, initial=np.iinfo(np.int64).min)
    low = np.where(is_placed, value, np.iinfo(np.int64).max).min(axis=2, initial=np.iinfo(np.int64).max)
    some = is_placed.any(axis=2)
    width = np.where(some, high - np.where(some, low, high), 0)
    counts = [np.unique(row[row > 0], return_counts=True)[1] for row in places]
    return LocalCoupling(
        window=window,
        width=int(width.max(initial=0)),
        tokens=int(real.any(axis=2).sum()),
        violations=int((width > window).sum()),
        unplaced=int((real & (value <= 0)).sum()),
        tokens_per_place=max((int(c.max(initial=0)) for c in counts), default=0),
        places=max((len(c) for c in counts), default=0),
    )


def super_tokens(tokens: Int[ndarray, "B T"], places: Int[ndarray, " T"], alphabet: int) -> Int[ndarray, "B M"]:
    """The string of super-tokens: at each of the M places, the ordered tuple of its tokens as one number.

    The number's digits in base |V| + 1 are the tokens plus one, the first token most significant, and 0 for missing
    tokens; it has c digits, the largest number of tokens of a place. Raises `LengthwiseError` if it exceeds 2^62.
    """
    top = int(places.max(initial=0))
    groups = [np.flatnonzero(places == p) for p in range(1, top + 1)]
    c = max((len(g) for g in groups), default=0)
    require((alphabet + 1) ** c < 2**62, f"{c} tokens of {alphabet} kinds in one place are too many to number")
    result = np.zeros((len(tokens), top), dtype=np.int64)
    for p, group in enumerate(groups):
        for column in range(c):
            digit = tokens[:, group[column]] + 1 if column < len(group) else 0
            result[:, p] = result[:, p] * (alphabet + 1) + digit
    return result


def pose_ids(size: int, length: int, target: int, chunks: int, rng: Rng) -> Int[ndarray, "B T"]:
    """Ids of PoSE (Zhu et al. 2023): the string is cut into ``chunks`` pieces, each shifted by a random jump.

    Ids stay below ``target``; cuts and jumps are uniform, and the first piece may start above 0. Raises
    `LengthwiseError` unless 1 <= chunks <= length <= target.
    """
    require(1 <= chunks <= length <= target, f"PoSE needs chunks <= length <= target, got {chunks}, {length}, {target}")
    cuts = np.argsort(rng.random((size, length - 1)), axis=1)[:, : chunks - 1] + 1
    piece = (np.arange(length) >= np.sort(cuts, axis=1)[..., None]).sum(axis=1)
    jumps = np.sort(rng.integers(target - length + 1, size=(size, chunks)), axis=1)
    return np.arange(length) + np.take_along_axis(jumps, piece, axis=1)
