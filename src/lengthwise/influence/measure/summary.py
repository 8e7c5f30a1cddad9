"""What the losses say: the recovered share of the long context's gain, with intervals over documents. NumPy only.

For each target, x = L_short − L_short,sparse(k) and y = L_short − L_long, in nats (figure 4 of Golowich et al. 2025).
Targets of one document are not independent, so documents are what the bootstrap resamples.
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
"""A target needs the context when the long one lowers its loss by more than this many nats."""
SPAN_BINS = 8


class Resamples:
    """Bootstrap weights of the targets' documents: how often each is drawn in each of ``count`` resamples.

    With fewer than two documents there is nothing to resample and every interval is None.
    """

    def __init__(self, documents: Int[ndarray, " N"], count: int, rng: Rng) -> None:
        _, self.owner = np.unique(documents, return_inverse=True)
        self.documents = int(self.owner.max(initial=-1)) + 1
        self.weights: Float[ndarray, "S D"] | None = None
        if self.documents > 1:
            drawn = rng.multinomial(self.documents, np.full(self.documents, 1 / self.documents), size=count)
            self.weights = drawn.astype(float)

    def sums(self, values: Float[ndarray, " N"], chosen: Bool[ndarray, " N"]) -> Float[ndarray, " S"]:
        """The sum of the ``chosen`` values in every resample."""
        assert self.weights is not None
        by_document = np.bincount(self.owner[chosen], weights=values[chosen], minlength=self.documents)
        return self.weights @ by_document


def recovered(x: Float[ndarray, " N"], y: Float[ndarray, " N"]) -> float | None:
    """R_k = Σx / Σy; None where the long context gains nothing in sum, since a share of nothing is no number."""
    total = float(y.sum())
    return float(x.sum()) / total if total > 0 else None


def line(x: Float[ndarray, " N"], y: Float[ndarray, " N"]) -> tuple[float, float] | None:
    """Slope and intercept of the least-squares line of y on x; None where x does not vary."""
    spread = float(((x - x.mean()) ** 2).sum()) if len(x) else 0.0
    if len(x) < 2 or spread <= 1e-18 * len(x):
        return None
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread
    return slope, float(y.mean() - slope * x.mean())


def gains(
    x: Float[ndarray, " N"], y: Float[ndarray, " N"], resamples: Resamples, chosen: Bool[ndarray, " N"] | None = None
) -> dict[str, Any]:
    """R_k and the line through the ``chosen`` targets, each with its 95 % interval (None where it has none)."""
    chosen = np.ones(len(x), dtype=bool) if chosen is None else chosen
    fit = line(x[chosen], y[chosen])
    result: dict[str, Any] = {
        "recovered": recovered(x[chosen], y[chosen]),
        "interval": None,
        "slope": None if fit is None else fit[0],
        "slope_interval": None,
        "intercept": None if fit is None else fit[1],
    }
    if resamples.weights is None or not chosen.any():
        return result
    count, sx, sy, sxx, sxy = (resamples.sums(v, chosen) for v in (np.ones_like(x), x, y, x * x, x * y))
    if result["recovered"] is not None and (sy > 0).all():
        result["interval"] = interval(sx / sy)
    spread = count * sxx - sx * sx
    if fit is not None and (spread > 1e-12 * np.maximum(count * sxx, 1e-300)).all():
        result["slope_interval"] = interval((count * sxy - sx * sy) / spread)
    return result


def interval(values: Float[ndarray, " S"]) -> list[float]:
    """The middle 95 %."""
    return [float(edge) for edge in np.quantile(values, (0.025, 0.975))]


def by_k(
    losses: Float[ndarray, "N m"],
    short: Float[ndarray, " N"],
    y: Float[ndarray, " N"],
    ks: tuple[int, ...],
    resamples: Resamples,
    chosen: Bool[ndarray, " N"] | None = None,
) -> dict[str, Any]:
    """`gains` for every k; ``losses`` with 1, 2, … tokens."""
    return {str(k): gains(short - losses[:, k - 1], y, resamples, chosen) for k in ks}


def spans(order: Int[ndarray, "N m"], context: int, block: Int[ndarray, " n"], ks: tuple[int, ...]) -> dict[str, Any]:
    """How far before the target the first k chosen tokens stand: counts per bin, and what a uniform choice expects.

    The token right before the target has distance 1. ``edges`` are inclusive on the left.
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


def agreement(orders: dict[str, Int[ndarray, "N m"]], block: int, ks: tuple[int, ...]) -> dict[str, Any]:
    """For every two selectors and k, the mean share of common tokens; ``chance`` is that of a uniform choice, k / n."""
    pairs = []
    for first, second in combinations(orders, 2):
        common = {
            str(k): float((orders[first][:, :k, None] == orders[second][:, None, :k]).any(axis=2).mean()) for k in ks
        }
        pairs.append({"selectors": [first, second], "common": common})
    return {"pairs": pairs, "chance": {str(k): k / block for k in ks}}


def extrapolation(
    x: dict[int, Float[ndarray, " N"]],
    y: Float[ndarray, " N"],
    gap: Float[ndarray, " N"],
    resamples: Resamples,
) -> dict[str, Any]:
    """Do targets with sparse dependence extrapolate better? Spearman's correlation of x/y with ``gap``, per k.

    ``gap`` is how much worse the model trained at short lengths is at the full one. Only targets that need the context
    have a share x/y; it is cut to [0, 1], beyond which it says nothing on sparsity. A negative correlation is the
    paper's expectation. The entry itself is that of the smallest k, ``by_k`` has all.
    """
    chosen = y > NEEDS_CONTEXT
    found: dict[str, Any] = {}
    for k, gained in x.items():
        # Rounded, so that shares which differ by rounding only have the same rank.
        share = np.clip(gained[chosen] / y[chosen], 0, 1).round(9)
        found[str(k)] = {
            "rank_correlation": _correlation(share, gap[chosen]),
            "interval": _spearman_interval(share, gap[chosen], resamples, chosen),
        }
    return {"targets": int(chosen.sum()), "k": min(x), **found[str(min(x))], "by_k": found}


def _correlation(a: Float[ndarray, " N"], b: Float[ndarray, " N"]) -> float | None:
    """Spearman's ρ, or None where either does not vary."""
    value = float(spearman(a, b)) if len(a) > 1 else float("nan")
    return None if np.isnan(value) else value


def _spearman_interval(
    share: Float[ndarray, " M"], gap: Float[ndarray, " M"], resamples: Resamples, chosen: Bool[ndarray, " N"]
) -> list[float] | None:
    if resamples.weights is None:
        return None
    repeats = resamples.weights[:, resamples.owner[chosen]].astype(int)
    drawn = [_correlation(np.repeat(share, row), np.repeat(gap, row)) for row in repeats]
    known = [value for value in drawn if value is not None]
    return interval(np.array(known)) if known and len(known) == len(drawn) else None
