"""Measures how the error of gradient-trained heads grows with length and k, beside Theorem B and the heuristic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lengthwise.core.rng import stream
from lengthwise.sparsity.heads.attention import TupleTypes
from lengthwise.sparsity.heads.bound import heuristic_error, measure_margins, theorem_b
from lengthwise.sparsity.heads.gradient import ExpHead, train
from lengthwise.sparsity.heads.theorem import Setting
from lengthwise.sparsity.planted.planted_correlations import Planted


@dataclass(frozen=True)
class GrowthPoint:
    """Mean and largest error (probability not given to the label) over sampled strings of one length.

    ``bound`` is that of Theorem B; above 1 it holds trivially.
    """

    length: int
    strings: int
    mean_error: float
    largest_error: float
    heuristic: float
    bound: float


@dataclass(frozen=True)
class GrowthCurve:
    """The points of one k and seed; ``trained_length`` is the only training length."""

    k: int
    seed: int
    trained_length: int
    steps: int
    points: tuple[GrowthPoint, ...]

    @property
    def exponent(self) -> float:
        """Slope of log mean odds of error against log length, by least squares: 1 means linear growth."""
        x = np.log([p.length for p in self.points])
        e = np.clip([p.mean_error for p in self.points], 1e-12, 1 - 1e-12)
        return float(np.polyfit(x, np.log(e / (1 - e)), 1)[0])


def error_growth(
    ks: tuple[int, ...] = (1, 2, 3),
    *,
    span: int = 2,
    length: int = 8,
    test_lengths: tuple[int, ...] = (8, 16, 32, 64, 128, 256),
    steps: int = 150,
    strings: int = 500,
    seeds: int = 5,
) -> tuple[GrowthCurve, ...]:
    """Train table heads on local parity at one length and measure the error at longer ones; seconds per curve.

    ``steps`` is small, so that the error stays positive.
    """
    curves = []
    for k in ks:
        planted = Planted.marked(k, span=span)
        setting = Setting.of(planted, span)
        for seed in range(seeds):
            types = TupleTypes.local(k, span, planted.alphabet)
            start = ExpHead(
                types, np.zeros(types.size), 0.1 * stream(seed, "start", k).normal(size=(types.size, planted.classes))
            )
            head = train(start, planted, (length, length), stream(seed, "train", k), steps=steps).head.table()
            margins = measure_margins(setting, head, length)
            points: list[GrowthPoint] = []
            for n in test_lengths:
                sample = planted.sample(strings, n, stream(seed, "test", k, n))
                error = head(sample.tokens).error(sample.labels)
                first = points[0].mean_error if points else float(error.mean())
                points.append(
                    GrowthPoint(
                        length=n,
                        strings=strings,
                        mean_error=float(error.mean()),
                        largest_error=float(error.max()),
                        heuristic=heuristic_error(first, k, test_lengths[0], n, span).value,
                        bound=theorem_b(margins, span, n).value,
                    )
                )
            curves.append(GrowthCurve(k, seed, length, steps, tuple(points)))
    return tuple(curves)
