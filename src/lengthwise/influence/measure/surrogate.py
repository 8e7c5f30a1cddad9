"""Solves many small Lasso problems at once."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

STEPS, TOLERANCE = 5000, 1e-7
"""Largest number of proximal steps, and the change of a coefficient below which they stop."""


def lasso(
    inputs: Float[ndarray, "N m n"], outputs: Float[ndarray, "N m"], alpha: float
) -> tuple[Float[ndarray, "N n"], Float[ndarray, "N n"]]:
    """Coefficients w that minimize |y − Xw|² / 2m + alpha·|w|₁ for each of N problems, and the correlations of y and X.

    Inputs and outputs are standardized (a constant column becomes 0), so coefficients have no unit. The method is
    accelerated proximal gradient descent (Beck & Teboulle 2009) with restarts.
    """
    x, y = _standardized(inputs), _standardized(outputs[:, :, None])
    gram = x.mT @ x / x.shape[1]
    correlations = (x.mT @ y)[:, :, 0] / x.shape[1]
    step = 1 / np.maximum(np.linalg.norm(gram, ord=2, axis=(1, 2)), 1e-12)[:, None]
    weights = np.zeros_like(correlations)
    ahead, momentum = weights, np.ones((len(weights), 1))
    for _ in range(STEPS):
        moved = ahead - step * ((gram @ ahead[:, :, None])[:, :, 0] - correlations)
        new = np.sign(moved) * np.maximum(np.abs(moved) - step * alpha, 0)
        # A problem whose momentum increases its objective restarts.
        uphill = ((ahead - new) * (new - weights)).sum(axis=1, keepdims=True) > 0
        momentum = np.where(uphill, 1.0, momentum)
        larger = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + np.where(uphill, 0.0, (momentum - 1) / larger) * (new - weights)
        change = np.abs(new - weights).max(initial=0)
        weights, momentum = new, larger
        if change < TOLERANCE:
            break
    return weights, correlations


def _standardized(values: Float[ndarray, "N m n"]) -> Float[ndarray, "N m n"]:
    centred = values - values.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    return np.where(spread > 0, centred / np.where(spread > 0, spread, 1), 0)
