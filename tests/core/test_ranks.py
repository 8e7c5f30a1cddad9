"""Spearman's rank correlation against the textbook formula, with and without ties."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.core.statistics import midranks, spearman

Pairs = list[tuple[int, int]]


def by_squared_differences(x: list[int], y: list[int]) -> float:
    """The textbook formula with its correction for ties, on ranks found by sorting: no correlation is computed."""

    def ranks(values: list[int]) -> list[float]:
        ordered = sorted(values)
        return [ordered.index(v) + (ordered.count(v) + 1) / 2 for v in values]

    def spread(values: list[int]) -> float:
        n = len(values)
        return (n**3 - n - sum(t**3 - t for t in Counter(values).values())) / 12

    squares = sum((a - b) ** 2 for a, b in zip(ranks(x), ranks(y), strict=True))
    return (spread(x) + spread(y) - squares) / (2 * (spread(x) * spread(y)) ** 0.5)


pairs = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=20)


@given(pairs)
def test_ties_and_all_it_is_the_textbook_formula(pairs: Pairs) -> None:
    x, y = [p[0] for p in pairs], [p[1] for p in pairs]
    found = float(spearman(np.array(x, dtype=float), np.array(y, dtype=float)))
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(by_squared_differences(x, y))


@given(st.permutations(range(9)))
def test_without_ties_one_minus_six_squares(order: list[int]) -> None:
    n = len(order)
    squares = sum((i - v) ** 2 for i, v in enumerate(order))
    found = spearman(np.arange(n), np.array(order, dtype=float) ** 3)
    assert float(found) == pytest.approx(1 - 6 * squares / (n * (n * n - 1)))


def test_rows_are_measured_on_their_own() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(5, size=(2, 7, 11)).astype(float)
    one_by_one = [float(spearman(a, b)) for a, b in zip(x, y, strict=True)]
    assert spearman(x, y) == pytest.approx(one_by_one)
    assert midranks(np.array([3.0, 1.0, 3.0, 7.0])).tolist() == [2.5, 1, 2.5, 4]
