"""Confidence intervals of shares and of medians over seeds, exact tests of ranks, rank correlation."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from statistics import median

import numpy as np
from jaxtyping import Float
from numpy import ndarray

Z95 = 1.959963984540054
"""The 97.5 % point of the normal distribution."""
LEVEL = 0.95
"""What an interval is to cover, where the number of seeds allows it."""


@dataclass(frozen=True)
class Estimate:
    """A median over seeds with its interval, as `estimate` says."""

    median: float
    low: float
    high: float


def wilson(correct: int, n: int, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval of the share ``correct`` / ``n`` (Wilson 1927), within [0, 1]."""
    share, spread = correct / n, z * z / n
    centre = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * (share * (1 - share) / n + spread / (4 * n)) ** 0.5
    # Rounding must not exclude a share of exactly 0 or 1.
    return min(max(0.0, centre - half), share), max(min(1.0, centre + half), share)


def median_rank(n: int) -> tuple[int, float]:
    """Of n values in order, the place k for which the k-th from below and from above hold the median, and how often.

    The k-th lowest to the k-th highest cover the median of what the values are drawn from with probability
    1 − 2 P(B < k) at least, B binomial with n tosses of a fair coin: whatever the distribution is. k is the largest
    with 95 %; below six values there is none, and k = 1, their range, is what covers most.
    """
    below = [sum(comb(n, j) for j in range(k)) / 2**n for k in range(1, n // 2 + 1)]
    k = max(1, sum(1 - 2 * tail >= LEVEL for tail in below))
    return k, max(0.0, 1 - 2 * sum(comb(n, j) for j in range(k)) / 2**n)


def estimate(correct: Sequence[int], n: Sequence[int]) -> Estimate:
    """The median share over seeds, with the interval of `median_rank`; of one seed, Wilson's over its strings."""
    shares = sorted(right / of for right, of in zip(correct, n, strict=True))
    if len(shares) == 1:
        return Estimate(shares[0], *wilson(correct[0], n[0]))
    k, _ = median_rank(len(shares))
    return Estimate(median(shares), shares[k - 1], shares[-k])


def rank_test(x: Sequence[float], y: Sequence[float]) -> float:
    """The exact two-sided p of the rank sum of ``x`` among ``x`` and ``y`` (Wilcoxon 1945), ties by midranks.

    The share of all ways to choose as many of the pooled values whose rank sum is as far from its mean.
    """
    order = sorted([*x, *y])
    twice = {value: bisect_left(order, value) + bisect_right(order, value) + 1 for value in order}
    return _as_far(tuple(twice[value] for value in order), len(x), sum(twice[value] for value in x))


@lru_cache(maxsize=4096)
def _as_far(ranks: tuple[int, ...], chosen: int, total: int) -> float:
    """The share of all ways to choose so many of the ranks whose sum is as far from its mean as ``total``."""
    mean, ways = chosen * sum(ranks), {(0, 0): 1}
    for rank in ranks:
        for (count, so_far), number in list(ways.items()):
            if count < chosen:
                key = count + 1, so_far + rank
                ways[key] = ways.get(key, 0) + number
    far = abs(total * len(ranks) - mean)
    sums = {found: number for (count, found), number in ways.items() if count == chosen}
    return sum(number for found, number in sums.items() if abs(found * len(ranks) - mean) >= far) / sum(sums.values())


def holm(p: Sequence[float]) -> list[float]:
    """The values of p of several tests, corrected so that one is below α by chance with probability α (Holm 1979)."""
    found, least = [0.0] * len(p), 0.0
    for rank, index in enumerate(sorted(range(len(p)), key=lambda index: p[index])):
        least = max(least, min(1.0, (len(p) - rank) * p[index]))
        found[index] = least
    return found


def midranks(values: Float[ndarray, "*rows N"]) -> Float[ndarray, "*rows N"]:
    """Ranks 1..N along the last axis; equal values share the mean of their ranks."""
    if values.ndim == 1:  # for long lists, of which comparing all pairs would take the square
        _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
        return (np.cumsum(counts) - (counts - 1) / 2)[index]
    smaller = (values[..., None, :] < values[..., :, None]).sum(axis=-1)
    equal = (values[..., None, :] == values[..., :, None]).sum(axis=-1)
    return smaller + (equal + 1) / 2


def spearman(x: Float[ndarray, "*rows N"], y: Float[ndarray, "*rows N"]) -> Float[ndarray, "*rows"]:
    """Spearman's ρ along the last axis: the correlation of midranks (Spearman 1904); NaN where x or y is constant."""
    a, b = midranks(np.asarray(x, dtype=float)), midranks(np.asarray(y, dtype=float))
    a, b = a - a.mean(axis=-1, keepdims=True), b - b.mean(axis=-1, keepdims=True)
    scale = np.sqrt((a * a).sum(axis=-1) * (b * b).sum(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(scale > 0, (a * b).sum(axis=-1) / scale, np.nan)
