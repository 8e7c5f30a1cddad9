"""Intervals against closed forms, exact coverage and brute force."""

from __future__ import annotations

import itertools
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.core.statistics import Z95, estimate, holm, median_rank, rank_test, wilson


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


@pytest.mark.parametrize("n", range(2, 15))
def test_the_interval_of_a_median_covers_it_as_often_as_it_says(n: int) -> None:
    """Every seed is above or below the true median with probability a half: all ways, counted."""
    k, covers = median_rank(n)
    below = [sum(sides) for sides in itertools.product((0, 1), repeat=n)]
    for rank, wanted in ((k, covers), (k + 1, None)):
        share = sum(rank <= count <= n - rank for count in below) / 2**n
        if wanted is None:
            assert k == n // 2 or share < 0.95, "a narrower interval covers 95 %, too"
        else:
            assert share == pytest.approx(wanted)
    assert (covers >= 0.95) == (n >= 6)
    assert k == 1 or n > 8
    shares = [7 * i * i for i in range(n)]
    found = estimate(shares[::-1], [10_000] * n)
    assert (found.low, found.high) == (shares[k - 1] / 10_000, shares[n - k] / 10_000)


def test_five_seeds_are_said_to_cover_less_than_95_percent() -> None:
    assert median_rank(5) == (1, 0.9375)
    assert median_rank(1)[1] == 0


scores = st.lists(st.integers(0, 4), min_size=1, max_size=4)


@given(scores, scores)
def test_the_rank_test_is_the_share_of_all_ways_to_share_the_seeds_out(x: list[int], y: list[int]) -> None:
    pooled = [*x, *y]

    def off(chosen: tuple[int, ...]) -> float:
        """How often chosen values beat the others, ties as a half, from what is expected: Mann and Whitney's U."""
        rest = [pooled[i] for i in range(len(pooled)) if i not in chosen]
        wins = sum((pooled[i] > other) + (pooled[i] == other) / 2 for i in chosen for other in rest)
        return abs(wins - len(x) * len(y) / 2)

    ways = list(itertools.combinations(range(len(pooled)), len(x)))
    mine = off(tuple(range(len(x))))
    assert rank_test(x, y) == pytest.approx(sum(off(way) >= mine for way in ways) / len(ways))
    assert rank_test(x, y) == pytest.approx(rank_test(y, x))


def test_five_seeds_above_five_is_the_least_p_of_all_ways() -> None:
    assert rank_test([5, 6, 7, 8, 9], [0, 1, 2, 3, 4]) == pytest.approx(2 / comb(10, 5))
    assert rank_test([1, 1], [1, 1]) == 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_rejects_what_stepping_down_rejects(p: list[float]) -> None:
    corrected = holm(p)
    for level in (0.01, 0.05, 0.3):
        rejected: set[int] = set()
        for step, index in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
            if min(1.0, p[index] * (len(p) - step)) > level:
                break
            rejected.add(index)
        assert {i for i, value in enumerate(corrected) if value <= level} == rejected


@pytest.mark.parametrize("values", [[], [0.2], [0.01, 0.04, 0.03], [0.5, 0.9], [0.001] * 4])
def test_holm_is_the_closed_test_of_bonferroni(values: list[float]) -> None:
    subsets = [[i for i in range(len(values)) if bits >> i & 1] for bits in range(1, 1 << len(values))]
    for i, found in enumerate(holm(values)):
        among = [min(1.0, len(s) * min(values[j] for j in s)) for s in subsets if i in s]
        assert found == pytest.approx(max(among))
