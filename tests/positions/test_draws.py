"""The drawings have the distributions that they claim, on ranges small enough to list every outcome."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from lengthwise.core.rng import stream
from lengthwise.positions.schemes import Coupled, PoSE, PositionScheme, Randomized, Sequential, sorted_subsets

ROWS = 30_000


def assert_distributed(outcomes: list, expected: dict) -> None:
    """A chi-square test at about six standard deviations: wrong laws fail by far, right ones practically never."""
    counts = Counter(outcomes)
    assert set(counts) <= set(expected), f"impossible outcomes {set(counts) - set(expected)}"
    assert math.isclose(sum(expected.values()), 1)
    n = len(outcomes)
    statistic = sum((counts[key] - n * p) ** 2 / (n * p) for key, p in expected.items())
    freedom = len(expected) - 1
    assert statistic <= freedom + 6 * math.sqrt(2 * freedom), f"{statistic:.0f} at {freedom} degrees of freedom"


def uniform(outcomes) -> dict:
    outcomes = list(outcomes)
    return {outcome: 1 / len(outcomes) for outcome in outcomes}


def draws(scheme: PositionScheme, tokens: int, rows: int = ROWS) -> np.ndarray:
    places = np.broadcast_to(np.arange(1, tokens + 1)[None, :, None], (rows, tokens, 1))
    return scheme.assign(np.ascontiguousarray(places), ("position",), stream(0, "draws"))[..., 0]


def as_tuples(ids: np.ndarray) -> list[tuple[int, ...]]:
    return [tuple(row) for row in ids.tolist()]


@pytest.mark.parametrize("size", [1, 2, 3, 6, 7])
def test_subsets_are_sorted_and_uniform(size: int):
    subsets = sorted_subsets(stream(0, size), ROWS, size, 2, 8)
    assert (np.diff(subsets, axis=1) > 0).all()
    assert_distributed(as_tuples(subsets), uniform(combinations(range(2, 9), size)))


def test_randomized_ids_are_a_uniform_subset_from_zero():
    assert_distributed(as_tuples(draws(Randomized(max_position=6), 3)), uniform(combinations(range(7), 3)))


def test_sorted_coupling_is_a_uniform_subset_from_one():
    assert_distributed(as_tuples(draws(Coupled(max_position=6), 3)), uniform(combinations(range(1, 7), 3)))


def test_permuted_coupling_is_a_uniform_injection():
    injections = [(a, b) for a in range(1, 6) for b in range(1, 6) if a != b]
    assert_distributed(as_tuples(draws(Coupled(max_position=5, draw="permuted"), 2)), uniform(injections))


def test_random_start_is_uniform_and_reaches_both_ends():
    ids = draws(Sequential(max_position=9, random_start=True), 4)
    assert (ids == ids[:, :1] + np.arange(4)).all()
    assert_distributed(ids[:, 0].tolist(), uniform(range(7)))


def test_contiguous_coupling_has_a_uniform_offset():
    ids = draws(Coupled(max_position=9, draw="contiguous"), 4)
    assert (ids == ids[:, :1] + np.arange(4)).all()
    assert_distributed(ids[:, 0].tolist(), uniform(range(1, 7)))


def cuts_and_skips(ids: np.ndarray) -> list[tuple[int, int]]:
    """Where a row jumps and how far; (0, 0) for a row without a jump."""
    jumps = np.diff(ids, axis=1) - 1
    assert ((jumps > 0).sum(axis=1) <= 1).all()
    cut = np.where(jumps.any(axis=1), jumps.argmax(axis=1) + 1, 0)
    return list(zip(cut.tolist(), jumps.sum(axis=1).tolist(), strict=True))


@pytest.mark.parametrize("tokens", [5, 6])
def test_pose_cuts_in_the_first_half_and_skips_uniformly(tokens: int):
    """Cut c ~ U{1..⌊(L+1)/2⌋}, skip u ~ U{0..L̄−L}: ids 0..c−1, then c+u..L−1+u (Zhu et al. 2023)."""
    target = 9
    ids = draws(PoSE(max_position=target - 1), tokens)
    assert (ids[:, 0] == 0).all()
    cuts, skips = (tokens + 1) // 2, target - tokens + 1
    expected = Counter()
    for cut in range(1, cuts + 1):
        for skip in range(skips):
            expected[(cut, skip) if skip else (0, 0)] += 1 / (cuts * skips)  # type: ignore[operator]
    assert_distributed(cuts_and_skips(ids), dict(expected))


def test_pose_can_cut_anywhere():
    ids = draws(PoSE(max_position=8, cut="anywhere"), 5)
    expected = Counter()
    for cut in range(1, 5):
        for skip in range(5):
            expected[(cut, skip) if skip else (0, 0)] += 1 / 20  # type: ignore[operator]
    assert_distributed(cuts_and_skips(ids), dict(expected))


def test_pose_of_three_chunks_has_two_sorted_skips():
    ids = draws(PoSE(max_position=6, chunks=3), 4)
    expected = Counter()
    for cuts in combinations(range(1, 4), 2):
        for first in range(4):
            for second in range(4):
                low, high = sorted((first, second))
                row = [t + (low if t >= cuts[0] else 0) + (high - low if t >= cuts[1] else 0) for t in range(4)]
                expected[tuple(row)] += 1 / 48  # type: ignore[operator]
    assert_distributed(as_tuples(ids), dict(expected))


def test_pose_has_no_more_chunks_than_tokens():
    assert (draws(PoSE(max_position=6, chunks=4), 1, rows=20) == 0).all()
    assert len(set(as_tuples(draws(PoSE(max_position=6, chunks=4), 2, rows=500)))) == 6


def test_coupled_pose_jumps_once_at_a_uniform_cut():
    """Two offsets, sorted, before and after a cut c ~ U{1..n}; a cut at n is no jump."""
    ids = draws(Coupled(max_position=6, draw="pose"), 3)
    expected = Counter()
    for cut in range(1, 4):
        for first in range(4):
            for second in range(4):
                low, high = sorted((first, second))
                expected[tuple(t + 1 + (low if t < cut else high) for t in range(3))] += 1 / 48  # type: ignore[operator]
    assert_distributed(as_tuples(ids), dict(expected))


def test_levels_are_drawn_apart():
    """Two coupled levels with the same places get independent ids."""
    places = np.ones((ROWS, 1, 2), dtype=np.int64)
    ids = Coupled(max_position=4).assign(places, ("position", "position"), stream(0))[:, 0]
    assert_distributed(as_tuples(ids), uniform((a, b) for a in range(1, 5) for b in range(1, 5)))
