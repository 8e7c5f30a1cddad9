"""Summarizes losses as recovered fractions of the long context's gain, with intervals; NumPy only.

For each target, x = L_short − L_short,sparse(k) and y = L_short − L_long, in nats (figure 4 of Golowich et al. 2025).
The bootstrap resamples documents, since targets of one document are not independent.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from lengthwise.core.ranks import spearman
from lengthwise.core.rng import Rng

NEEDS_CONTEXT = 0.1
"""A target needs the context if the whole context lowers its loss by more than this, in nats."""
SPAN_BINS = 8


class Resamples:
    """Bootstrap weights [S, D]: how often each of D documents is drawn in each of S = ``count`` resamples.

    With fewer than two documents, ``weights`` and every interval are None.
    """

    def __init__(self, documents: Int[ndarray, " N"], count: int, rng: Rng) -> None:
        _, self.owner = np.unique(documents, return_inverse=True)
        self.documents = int(self.owner.max(initial=-1)) + 1
        self.weights: Float[ndarray, "S D"] | None = None
        if self.documents > 1:
            drawn = rng.multinomial(self.documents, np.full(self.documents, 1 / self.documents), size=count)
            self.weights = drawn.astype(float)

    def sums(self, values: Float[ndarray, " N"], included: Bool[ndarray, " N"]) -> Float[ndarray, " S"]:
        """The sum of the ``included`` values in every resample."""
        assert self.weights is not None
        by_document = np.bincount(self.owner[included], weights=values[included], minlength=self.documents)
        return self.weights @ by_document


def recovered(x: Float[ndarray, " N"], y: Float[ndarray, " N"]) -> float | None:
    """R_k = Σx / Σy; None if Σy is not positive."""
    total = float(y.sum())
    return float(x.sum()) / total if total > 0 else None


def line(x: Float[ndarray, " N"], y: Float[ndarray, " N"]) -> tuple[float, float] | None:
    """Slope and intercept of the least-squares line of y on x; None if x does not vary."""
    spread = float(((x - x.mean()) ** 2).sum()) if len(x) else 0.0
    if len(x) < 2 or spread <= 1e-18 * len(x):
        return None
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread
    return slope, float(y.mean() - slope * x.mean())


def gains(
    x: Float[ndarray, " N"], y: Float[ndarray, " N"], resamples: Resamples, included: Bool[ndarray, " N"] | None = None
) -> dict[str, Any]:
    """R_k and the regression line of the ``included`` targets, each with a 95 % interval or None."""
    included = np.ones(len(x), dtype=bool) if included is None else included
    fit = line(x[included], y[included])
    result: dict[str, Any] = {
        "recovered": recovered(x[included], y[included]),
        "interval": None,
        "slope": None if fit is None else fit[0],
        "slope_interval": None,
        "intercept": None if fit is None else fit[1],
    }
    if resamples.weights is None or not included.any():
        return result
    count, sx, sy, sxx, sxy = (resamples.sums(v, included) for v in (np.ones_like(x), x, y, x * x, x * y))
    if result["recovered"] is not None and (sy > 0).all():
        result["interval"] = interval(sx / sy)
    spread = count * sxx - sx * sx
    if fit is not None and (spread > 1e-12 * np.maximum(count * sxx, 1e-300)).all():
        result["slope_interval"] = interval((count * sxy - sx * sy) / spread)
    return result


def interval(values: Float[ndarray, " S"]) -> list[float]:
    """The 2.5 % and 97.5 % quantiles of S values."""
    return [float(edge) for edge in np.quantile(values, (0.025, 0.975))]


def by_k(
    losses: Float[ndarray, "N m"],
    short: Float[ndarray, " N"],
    y: Float[ndarray, " N"],
    ks: tuple[int, ...],
    resamples: Resamples,
    included: Bool[ndarray, " N"] | None = None,
) -> dict[str, Any]:
    """`gains` for every k, from ``losses`` with the first 1, …, m tokens visible."""
    return {str(k): gains(short - losses[:, k - 1], y, resamples, included) for k in ks}


def spans(order: Int[ndarray, "N m"], context: int, block: Int[ndarray, " n"], ks: tuple[int, ...]) -> dict[str, Any]:
    """Distances from the target to the first k chosen tokens: counts per bin, and the shares of a uniform choice.

    The token before the target has distance 1. Bins include their left edge.
    """
    nearest, farthest = context - int(block[-1]), context - int(block[0])
    edges = np.unique(np.linspace(nearest, farthest + 1, min(SPAN_BINS, farthest + 1 - nearest) + 1).round())
    distances = context - order
    return {
        "edges": [int(edge) for edge in edges],
        "uniform": [float(share) for share in np.histogram(context - block, edges)[0] / len(block)],
        "counts": {str(k): np.histogram(distances[:, :k], edges)[0].tolist() for k in ks},
        "mean": {str(k): float(distances[:, :k].mean()) for k in ks},
    }


def overlap(orders: dict[str, Int[ndarray, "N m"]], block: int, ks: tuple[int, ...]) -> dict[str, Any]:
    """For each pair of rules and each k, the mean share of common tokens; a uniform choice has ``chance`` k / n."""
    pairs = []
    for first, second in combinations(orders, 2):
        common = {
            str(k): float((orders[first][:, :k, None] == orders[second][:, None, :k]).any(axis=2).mean()) for k in ks
        }
        pairs.append({"rules": [first, second], "common": common})
    return {"pairs": pairs, "chance": {str(k): k / block for k in ks}}


def extrapolation(
    x: dict[int, Float[ndarray, " N"]], y: Float[ndarray, " N"], gap: Float[ndarray, " N"], resamples: Resamples
) -> dict[str, Any]:
    """Spearman's correlation of the share x/y with ``gap``, over the targets that need the context, for each k.

    ``gap`` is the additional loss, in nats, of the model trained at a shorter context. Shares are clipped to [0, 1].
    The paper expects a negative correlation: sparse dependence extrapolates better. The entry itself is that of the
    smallest k; ``by_k`` holds all.
    """
    included = y > NEEDS_CONTEXT
    found: dict[str, Any] = {}
    for k, gained in x.items():
        # Shares that differ by rounding errors only get the same rank.
        share = np.clip(gained[included] / y[included], 0, 1).round(9)
        found[str(k)] = {
            "rank_correlation": _correlation(share, gap[included]),
            "interval": _spearman_interval(share, gap[included], resamples, included),
        }
    return {"targets": int(included.sum()), "k": min(x), **found[str(min(x))], "by_k": found}


def _correlation(a: Float[ndarray, " N"], b: Float[ndarray, " N"]) -> float | None:
    """Spearman's ρ; None if either does not vary."""
    value = float(spearman(a, b)) if len(a) > 1 else float("nan")
    return None if np.isnan(value) else value


def _spearman_interval(
    share: Float[ndarray, " M"], gap: Float[ndarray, " M"], resamples: Resamples, included: Bool[ndarray, " N"]
) -> list[float] | None:
    if resamples.weights is None:
        return None
    repeats = resamples.weights[:, resamples.owner[included]].astype(int)
    drawn = [_correlation(np.repeat(share, row), np.repeat(gap, row)) for row in repeats]
    known = [value for value in drawn if value is not None]
    return interval(np.array(known)) if known and len(known) == len(drawn) else None
