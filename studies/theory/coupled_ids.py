"""Theory of coupled ids: spans of dependencies, local couplings, super-tokens, and what PoSE ids can show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import comb

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray
from planted import Offsets, Uniform, offset_patterns

import lengthwise as lw


def require(condition: bool, problem: str) -> None:
    if not condition:
        raise lw.LengthwiseError(problem)


def dependency_spans(
    ids: Int[ndarray, "B T"], parents: Int[ndarray, "B T P"], scored: Bool[ndarray, " T"] | None = None
) -> Int[ndarray, " B"]:
    """The largest |id of the predicting token - id of a parent| over scored tokens, per sequence.

    The predicting token is the one before the predicted; a sequence without parents has span 0.
    """
    _check(ids, parents)
    real = _real(parents, scored)
    real[:, 0] = False
    rows = np.arange(len(ids))[:, None, None]
    predicting = np.concatenate([ids[:, :1], ids[:, :-1]], axis=1)
    gaps = np.abs(predicting[..., None] - ids[rows, parents])
    return np.where(real, gaps, 0).max(axis=(1, 2), initial=0)


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
    _check(places, parents)
    real = _real(parents, scored)
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
    tokens; it has c digits, the largest number of tokens of a place. Raises `lw.LengthwiseError` if it exceeds 2^62.
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


def pose_ids(size: int, length: int, target: int, chunks: int, rng: np.random.Generator) -> Int[ndarray, "B T"]:
    """Ids of PoSE (Zhu et al. 2023): the string is cut into ``chunks`` pieces, each shifted by a random jump.

    Ids stay below ``target``; cuts and jumps are uniform, and the first piece may start above 0. Raises
    `lw.LengthwiseError` unless 1 <= chunks <= length <= target.
    """
    require(1 <= chunks <= length <= target, f"PoSE needs chunks <= length <= target, got {chunks}, {length}, {target}")
    cuts = np.argsort(rng.random((size, length - 1)), axis=1)[:, : chunks - 1] + 1
    piece = (np.arange(length) >= np.sort(cuts, axis=1)[..., None]).sum(axis=1)
    jumps = np.sort(rng.integers(target - length + 1, size=(size, chunks)), axis=1)
    return np.arange(length) + np.take_along_axis(jumps, piece, axis=1)


def pose_covers(pattern: Offsets, length: int, target: int, chunks: int) -> bool:
    """Whether some PoSE ids give k tokens of a string of ``length`` these id offsets.

    At most chunks - 1 gaps can be stretched, preferably the largest. A stretched gap takes one position, every other
    its full width.
    """
    gaps = sorted(b - a for a, b in pairwise(pattern))
    stretched = min(chunks - 1, len(gaps))
    kept = gaps[: len(gaps) - stretched]
    return pattern[-1] < target and sum(kept) + stretched <= length - 1


@dataclass(frozen=True)
class Coverage:
    """How many of the offset patterns possible at the target length occur at the training length."""

    k: int
    length: int
    target: int
    chunks: int
    covered: int
    patterns: int
    exact: bool

    @property
    def share(self) -> float:
        """The share of covered patterns."""
        return self.covered / self.patterns


def pose_coverage(
    k: int, length: int, target: int, chunks: int, rng: np.random.Generator | None = None, samples: int = 20_000
) -> Coverage:
    """Count the covered patterns of k tokens at ``target``: of all C(target - 1, k - 1), or of ``samples`` random ones.

    Without ``rng`` the count is exact; raises `lw.LengthwiseError` beyond 500,000 patterns. With one chunk there is no
    PoSE.
    """
    number = comb(target - 1, k - 1)
    patterns: Iterable[Offsets]
    if rng is None:
        require(number <= 500_000, f"{number} patterns are too many to list; give rng to sample them")
        patterns, total = offset_patterns(k, target - 1), number
    else:
        # Uniform over patterns: the gaps after position 0 are a uniform (k - 1)-subset of 1..target-1.
        drawn = np.zeros((samples, 0), dtype=np.int64)
        if k > 1:
            drawn = Uniform(k - 1).sample(samples, target - 1, rng) + 1
        patterns, total = ((0, *row) for row in drawn.tolist()), samples
    covered = sum(pose_covers(pattern, length, target, chunks) for pattern in patterns)
    return Coverage(k, length, target, chunks, covered, total, rng is None)


def _check(ids: ndarray, parents: ndarray) -> None:
    good = ids.ndim == 2 and parents.ndim == 3 and parents.shape[:2] == ids.shape
    require(good, f"ids need shape [B, T] and parents [B, T, P], got {ids.shape} and {parents.shape}")


def _real(parents: ndarray, scored: ndarray | None) -> ndarray:
    real = parents >= 0
    return real if scored is None else real & scored[None, :, None]
