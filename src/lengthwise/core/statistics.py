"""Confidence intervals of shares, over strings or over seeds and their strings; rank correlation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from lengthwise.core.rng import stream

Z95 = 1.959963984540054
"""The 97.5 % point of the normal distribution."""


@dataclass(frozen=True)
class Estimate:
    """A median over seeds and its 95 % interval."""

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


def estimate(correct: Sequence[int], n: Sequence[int], *, draws: int = 2000) -> Estimate:
    """The median share over seeds, with a 95 % interval.

    One seed gets Wilson's interval over its strings. Several seeds get a bootstrap that resamples seeds and draws each
    seed's share from Beta(c + ½, n − c + ½). Equal counts give equal intervals.
    """
    return _estimate(tuple(correct), tuple(n), draws)


@lru_cache(maxsize=1 << 14)  # one page asks for the same counts again and again
def _estimate(correct: tuple[int, ...], n: tuple[int, ...], draws: int) -> Estimate:
    counts, sizes = np.asarray(correct), np.asarray(n)
    median = float(np.median(counts / sizes))
    if len(counts) == 1:
        return Estimate(median, *wilson(int(counts[0]), int(sizes[0])))
    rng = stream(0, "bootstrap", *counts.tolist(), *sizes.tolist())
    picks = rng.integers(len(counts), size=(draws, len(counts)))
    shares = rng.beta(counts[picks] + 0.5, sizes[picks] - counts[picks] + 0.5)
    low, high = np.quantile(np.median(shares, axis=1), (0.025, 0.975))
    return Estimate(median, min(float(low), median), max(float(high), median))


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
