"""Finds all heads of smallest empirical risk in a finite class given as a list, one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from lengthwise.sparsity.heads.learner import HeadClass, Samples


@dataclass(frozen=True)
class Minimizers:
    """The smallest empirical risk, the indices of all heads that attain it, and every head's risk."""

    risk: float
    indices: tuple[int, ...]
    risks: Float[ndarray, " H"]

    @property
    def tied(self) -> bool:
        """Whether several heads attain the smallest risk."""
        return len(self.indices) > 1


def empirical_risk(heads: HeadClass, samples: Samples) -> Float[ndarray, " H"]:
    """Loss 1 - h(X)[y] averaged over the strings of each length, then over lengths (0/0 costs 1)."""
    total = np.zeros(len(heads))
    for sample in samples:
        counts = heads.types.counts(sample.tokens).astype(np.float64)
        denominator = heads.weights @ counts.T
        right = np.zeros_like(denominator)
        for y in np.unique(sample.labels):
            rows = sample.labels == y
            right[:, rows] = (heads.weights * heads.votes[..., y]) @ counts[rows].T
        share = np.divide(right, denominator, out=np.zeros_like(right), where=denominator > 0)
        total += 1 - share.mean(axis=1)
    return total / len(samples)


def exact_learner(heads: HeadClass, samples: Samples, tolerance: float = 1e-12) -> Minimizers:
    """All heads of smallest empirical risk; risks within ``tolerance`` (rounding) are equal."""
    risks = empirical_risk(heads, samples)
    best = float(risks.min())
    return Minimizers(best, tuple(np.flatnonzero(risks <= best + tolerance).tolist()), risks)
