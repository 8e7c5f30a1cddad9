"""Computes confidence intervals of shares, over the strings of one seed or over several seeds and their strings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
    counts, sizes = np.asarray(correct), np.asarray(n)
    median = float(np.median(counts / sizes))
    if len(counts) == 1:
        return Estimate(median, *wilson(int(counts[0]), int(sizes[0])))
    rng = stream(0, "bootstrap", *counts.tolist(), *sizes.tolist())
    picks = rng.integers(len(counts), size=(draws, len(counts)))
    shares = rng.beta(counts[picks] + 0.5, sizes[picks] - counts[picks] + 0.5)
    low, high = np.quantile(np.median(shares, axis=1), (0.025, 0.975))
    return Estimate(median, min(float(low), median), max(float(high), median))
