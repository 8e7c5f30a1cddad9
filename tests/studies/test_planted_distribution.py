from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import FixedOffsets, Local, Planted, Uniform, WordDistribution, offset_patterns

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.tasks.planted import LABELS, Lookup, MajorityLabel, SumMod


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 4), st.integers(0, 5), st.integers(2, 3), st.integers(0, 999))
def test_label_is_a_function_of_the_reported_positions(k, extra, values, seed):
    for span in (None, k - 1 + extra):
        planted = Planted.marked(k, span=span, values=values, label=SumMod(values))
        sample = planted.sample(50, k + 7, stream(seed, "t"))
        words = np.take_along_axis(sample.tokens, sample.relevant, axis=1)
        assert (words >= values).all()
        assert ((sample.tokens >= values).sum(axis=1) == k).all()
        np.testing.assert_array_equal(sample.labels, (words - values).sum(axis=1) % values)
        assert (np.diff(sample.relevant, axis=1) > 0).all()
        if span is not None:
            assert (sample.relevant[:, -1] - sample.relevant[:, 0]).max() <= span


@pytest.mark.parametrize(
    ("placement", "expected"),
    [
        (Uniform(2), list(combinations(range(6), 2))),
        (Local(2, 2), [s for s in combinations(range(6), 2) if s[1] - s[0] <= 2]),
        (Local(3, 3), [s for s in combinations(range(6), 3) if s[2] - s[0] <= 3]),
        (Local(1, 0), [(i,) for i in range(6)]),
    ],
)
def test_subsets_are_uniform(placement, expected):
    draws = placement.sample(40_000, 6, stream(0, "uniform"))
    counts = Counter(map(tuple, draws.tolist()))
    assert set(counts) == set(expected)
    mean = 40_000 / len(expected)
    chi2 = sum((counts[s] - mean) ** 2 / mean for s in expected)
    freedom = len(expected) - 1
    assert chi2 < freedom + 5 * np.sqrt(2 * freedom)
    assert {tuple(i - s[0] for i in s) for s in expected} == set(placement.patterns(6))


def test_fixed_placements():
    fixed = FixedOffsets(shapes=((0, 2), (0, 5)))
    draws = fixed.sample(2000, 8, stream(0))
    assert set((draws[:, 1] - draws[:, 0]).tolist()) == {2, 5}
    assert draws.max() == 7
    assert draws.min() == 0
    assert fixed.patterns(4) == ((0, 2),)
    with pytest.raises(LengthwiseError, match="length 5 or more, got 4"):
        Uniform(5).sample(1, 4, stream(0))


@pytest.mark.parametrize(("k", "span"), [(1, 0), (2, 5), (3, 8), (4, 6)])
def test_number_of_patterns(k, span):
    patterns = offset_patterns(k, span)
    assert len(set(patterns)) == len(patterns) == comb(span, k - 1)


def test_label_functions():
    values = np.array([[0, 1, 1], [2, 2, 0], [0, 1, 2]])
    assert MajorityLabel()(values).tolist() == [1, 2, 0]
    assert SumMod(3)(values).tolist() == [2, 1, 0]
    table = Lookup(m=2, table=(0, 1, 1, 1))
    assert table(np.array([[0, 0], [0, 1], [1, 0], [1, 1]])).tolist() == [0, 1, 1, 1]
    with pytest.raises(ValueError, match="entries"):
        Planted.marked(3, label=table)


def test_background_follows_mu_and_words_follow_q_voc():
    planted = Planted(
        placement=Local(2, 3),
        words=WordDistribution(listed=((2, 2), (2, 1), (2, 1), (2, 1))),
        background=(0.7, 0.0, 0.3),
        values=(0, 1, 2),
        label=SumMod(3),
    )
    sample = planted.sample(4000, 20, stream(0))
    words = np.take_along_axis(sample.tokens, sample.relevant, axis=1)
    assert abs((words[:, 1] == 1).mean() - 0.75) < 0.03
    outside = sample.tokens.copy()
    np.put_along_axis(outside, sample.relevant, -1, axis=1)
    assert abs((outside == 0).sum() / (outside >= 0).sum() - 0.7) < 0.01
    assert not (outside == 1).any()
    assert planted.words.support(2).tolist() == [[2, 1], [2, 2]]


def test_same_stream_same_sample():
    a, b = (Planted.marked(3, span=6).sample(8, 30, stream(1, "x")) for _ in range(2))
    np.testing.assert_array_equal(a.tokens, b.tokens)


@pytest.mark.parametrize(
    "change", [{"background": (0.5, 0.6)}, {"values": (0,)}, {"words": WordDistribution(symbols=(5,))}]
)
def test_parts_that_do_not_fit_are_refused(change):
    fields = {
        "placement": Uniform(2),
        "words": WordDistribution(symbols=(0, 1)),
        "background": (0.5, 0.5),
        "values": (0, 1),
    }
    Planted(**fields)
    with pytest.raises(ValueError, match=r"."):
        Planted(**{**fields, **change})


def test_labels_round_trip():
    assert LABELS.build(LABELS.describe(SumMod(5))) == SumMod(5)
