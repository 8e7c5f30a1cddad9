"""Intervals against closed forms, exact coverage and brute force."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.core.statistics import Z95, estimate, wilson


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_solves_its_quadratic_and_holds_the_share(counts: tuple[int, int]) -> None:
    correct, n = counts
    low, high = wilson(correct, n)
    share = correct / n
    assert 0 <= low <= share <= high <= 1
    for bound in (low, high):
        # Wilson's bounds are where |share − p| is z standard errors of p itself.
        assert abs(share - bound) == pytest.approx(Z95 * (bound * (1 - bound) / n) ** 0.5, abs=1e-9)


@pytest.mark.parametrize("truth", [0.05, 0.3, 0.5, 0.9])
def test_wilson_covers_about_95_percent(truth: float) -> None:
    n = 100
    coverage = 0.0
    for correct in range(n + 1):
        low, high = wilson(correct, n)
        coverage += (low <= truth <= high) * comb(n, correct) * truth**correct * (1 - truth) ** (n - correct)
    assert 0.93 < coverage < 0.98


@given(st.lists(st.integers(0, 200), min_size=1, max_size=9))
def test_an_estimate_holds_its_median_and_is_repeatable(correct: list[int]) -> None:
    sizes = [200] * len(correct)
    found = estimate(correct, sizes)
    assert found.median == pytest.approx(float(np.median(correct)) / 200)
    assert 0 <= found.low <= found.median <= found.high <= 1
    assert estimate(correct, sizes) == found


def test_several_seeds_are_wider_than_their_strings_alone() -> None:
    one, spread = estimate([100], [200]), estimate([20, 100, 180], [200] * 3)
    assert spread.high - spread.low > 2 * (one.high - one.low)


def test_perfect_seeds_do_not_claim_certainty() -> None:
    found = estimate([200, 200, 200], [200] * 3)
    assert found.median == found.high == 1
    assert 0.98 < found.low < 1
