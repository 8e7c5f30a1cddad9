"""The Lasso: optimality conditions, the closed form of orthogonal inputs, standardization."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.influence.measure import lasso


def standardized(values: np.ndarray) -> np.ndarray:
    return (values - values.mean(axis=0)) / values.std(axis=0)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.01, 0.1, 0.5]), st.sampled_from([3, 8, 20]))
def test_the_solution_meets_the_optimality_conditions(seed: int, alpha: float, columns: int):
    rng = np.random.default_rng(seed)
    inputs = (rng.random((2, 40, columns)) < 0.5).astype(float)
    outputs = inputs[:, :, 0] * 2 - inputs[:, :, 1] + rng.normal(size=(2, 40))
    weights, correlations = lasso(inputs, outputs, alpha)
    for i in range(2):
        x, y = standardized(inputs[i]), standardized(outputs[i])
        assert np.allclose(correlations[i], x.T @ y / 40)
        slope = x.T @ (y - x @ weights[i]) / 40
        active = weights[i] != 0
        assert np.allclose(slope[active], alpha * np.sign(weights[i][active]), atol=1e-4)
        assert (np.abs(slope[~active]) <= alpha + 1e-4).all()


def test_orthogonal_inputs_shrink_each_correlation():
    signs = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], dtype=float)
    outputs = 3 * signs[:, 0] + signs[:, 1]
    weights, correlations = lasso(signs[None], outputs[None], 0.2)
    assert np.allclose(correlations[0], [3 / 10**0.5, 1 / 10**0.5, 0])
    assert np.allclose(weights[0], [3 / 10**0.5 - 0.2, 1 / 10**0.5 - 0.2, 0], atol=1e-6)


def test_constant_columns_and_outputs_get_nothing():
    inputs = np.ones((1, 10, 2))
    inputs[0, :5, 0] = 0
    weights, correlations = lasso(inputs, np.ones((1, 10)), 0.01)
    assert weights.tolist() == [[0.0, 0.0]]
    assert correlations.tolist() == [[0.0, 0.0]]
