"""R_k, lines, intervals, ranks, spans and overlap against formulas written with loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.influence.measure import (
    Resamples,
    by_k,
    extrapolation,
    gains,
    interval,
    line,
    overlap,
    recovered,
    spans,
)


@given(st.integers(0, 10_000), st.booleans())
def test_intervals_are_those_of_a_bootstrap_written_out(seed: int, some: bool):
    rng = np.random.default_rng(seed)
    documents = rng.integers(4, size=30)
    x, y = rng.normal(1, 1, 30), rng.normal(2, 1, 30)
    chosen = rng.random(30) < 0.7 if some else np.ones(30, dtype=bool)
    resamples = Resamples(documents, 50, np.random.default_rng(1))
    found = gains(x, y, resamples, chosen)
    assert found["recovered"] == pytest.approx(sum(x[chosen]) / sum(y[chosen]))
    assert [found["slope"], found["intercept"]] == pytest.approx(list(np.polyfit(x[chosen], y[chosen], 1)))
    shares, slopes = [], []
    assert resamples.weights is not None
    for row in resamples.weights:
        drawn = [
            i for document, times in zip(np.unique(documents), row, strict=True) for _ in range(int(times))
            for i in np.flatnonzero((documents == document) & chosen)
        ]  # fmt: skip
        shares.append(sum(x[drawn]) / sum(y[drawn]) if drawn and sum(y[drawn]) > 0 else None)
        slopes.append(line(x[drawn], y[drawn]))
    known = [share for share in shares if share is not None]
    assert found["interval"] == (pytest.approx(interval(np.array(known))) if len(known) == len(shares) else None)
    if found["slope_interval"] is not None:
        expected = interval(np.array([fit[0] for fit in slopes if fit is not None]))
        assert found["slope_interval"] == pytest.approx(expected, abs=1e-6)


def test_resamples_draw_documents_with_equal_chances():
    resamples = Resamples(np.array([5, 5, 9, 7]), 4000, np.random.default_rng(0))
    assert resamples.documents == 3
    assert resamples.weights is not None
    assert (resamples.weights.sum(axis=1) == 3).all()
    assert resamples.weights.mean(axis=0) == pytest.approx([1, 1, 1], abs=0.05)


def test_nothing_to_recover_is_no_number():
    x = np.array([0.5, 0.1])
    assert recovered(x, np.array([1.0, -1.0])) is None
    assert recovered(x, np.array([1.0, 1.0])) == pytest.approx(0.3)
    assert line(np.array([1.0, 1.0]), x) is None
    found = gains(x, np.array([1.0, -1.0]), Resamples(np.array([0, 1]), 20, np.random.default_rng(0)))
    assert found["recovered"] is None
    assert found["interval"] is None
    empty = gains(x, x, Resamples(np.array([0, 1]), 20, np.random.default_rng(0)), np.zeros(2, dtype=bool))
    assert set(empty.values()) == {None}


def test_by_k_reads_the_column_of_k():
    losses = np.array([[3.0, 2.0, 1.0], [3.0, 1.0, 1.0]])
    short, y = np.array([4.0, 4.0]), np.array([4.0, 4.0])
    found = by_k(losses, short, y, (1, 3), Resamples(np.array([0, 1]), 20, np.random.default_rng(0)))
    assert {k: row["recovered"] for k, row in found.items()} == {"1": 0.25, "3": 0.75}


def test_spans_are_distances_to_the_target():
    order = np.array([[0, 7], [3, 0]])
    found = spans(order, 12, np.arange(8), (1, 2))
    assert found["edges"] == list(range(5, 14))
    assert found["counts"]["1"] == [0, 0, 0, 0, 1, 0, 0, 1]
    assert found["counts"]["2"] == [1, 0, 0, 0, 1, 0, 0, 2]
    assert found["mean"] == {"1": 10.5, "2": 9.5}
    assert found["uniform"] == pytest.approx([1 / 8] * 8)
    wide = spans(np.array([[64, 1]]), 128, np.arange(1, 65), (1,))
    assert wide["edges"][0] == 64
    assert wide["edges"][-1] == 128
    assert sum(wide["uniform"]) == pytest.approx(1)


@given(st.integers(0, 1000))
def test_overlap_is_the_mean_share_in_common(seed: int):
    rng = np.random.default_rng(seed)
    orders = {name: np.stack([rng.permutation(6)[:3] for _ in range(4)]) for name in "abc"}
    found = overlap(orders, 6, (1, 3))
    assert found["chance"] == {"1": 1 / 6, "3": 0.5}
    assert [row["rules"] for row in found["pairs"]] == [list(pair) for pair in itertools.combinations("abc", 2)]
    for row in found["pairs"]:
        first, second = (orders[name] for name in row["rules"])
        for k in (1, 3):
            common = [len(set(p[:k]) & set(q[:k])) / k for p, q in zip(first.tolist(), second.tolist(), strict=True)]
            assert row["common"][str(k)] == pytest.approx(sum(common) / 4)


def test_sparse_targets_that_extrapolate_better_give_a_negative_correlation():
    y = np.array([1.0, 1.0, 1.0, 1.0, 0.05])
    x = {1: np.array([0.9, 0.6, 0.3, 0.1, -9.0]), 2: np.array([2.0, 1.5, 0.3, 0.1, 0.0])}
    gap = np.array([0.0, 0.1, 0.2, 0.4, 99.0])
    found = extrapolation(x, y, gap, Resamples(np.arange(5), 30, np.random.default_rng(0)))
    assert found["targets"] == 4
    assert found["k"] == 1
    assert found["rank_correlation"] == pytest.approx(-1)
    # Beyond 1 a share says nothing: the first two targets are equally sparse.
    assert -1 < found["by_k"]["2"]["rank_correlation"] < -0.9
