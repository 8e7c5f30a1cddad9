"""Midranks and Spearman's rank correlation."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray


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
