import numpy as np
import pytest
from heads import LocalHead, NonLocalHead, Output, TupleTypes, attention_reference, subsequence_counts
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.core.errors import LengthwiseError


def random_head(rng, k, span, alphabet, labels=3):
    types = TupleTypes.local(k, span, alphabet)
    weights = rng.random(types.size) * (rng.random(types.size) < 0.6)
    votes = rng.dirichlet(np.ones(labels), size=types.size)
    return LocalHead(types, weights, votes)


def reference(head, row):
    def offsets(positions):
        return tuple(p - positions[0] for p in positions)

    def weight(word, positions):
        pattern = offsets(positions)
        return float(head.weights[head.types.index(pattern, word)]) if pattern in head.types.patterns else 0.0

    def vote(word, positions):
        pattern = offsets(positions)
        known = pattern in head.types.patterns
        return head.votes[head.types.index(pattern, word)] if known else np.zeros(head.votes.shape[1])

    return attention_reference(row, head.types.k, weight, vote)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3), st.integers(0, 3), st.integers(1, 3), st.integers(0, 6), st.integers(0, 10_000))
def test_windows_equal_the_definition_over_all_subsets(k, extra, alphabet, more, seed):
    rng = np.random.default_rng(seed)
    head = random_head(rng, k, k - 1 + extra, alphabet)
    tokens = rng.integers(alphabet, size=(3, k + more))
    fast = head(tokens)
    for b, row in enumerate(tokens):
        slow = reference(head, row)
        np.testing.assert_allclose(fast.numerator[b], slow.numerator[0], atol=1e-12)
        np.testing.assert_allclose(fast.denominator[b], slow.denominator[0], atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 5), st.integers(0, 10_000))
def test_non_local_head_equals_the_definition(k, alphabet, more, seed):
    rng = np.random.default_rng(seed)
    weights, votes = rng.random(alphabet**k), rng.dirichlet(np.ones(2), size=alphabet**k)
    tokens = rng.integers(alphabet, size=(2, k + more))

    def code(word):
        return sum(t * alphabet ** (k - 1 - i) for i, t in enumerate(word))

    fast = NonLocalHead(k, alphabet, weights, votes)(tokens)
    for b, row in enumerate(tokens):
        slow = attention_reference(row, k, lambda w, _: float(weights[code(w)]), lambda w, _: votes[code(w)])
        np.testing.assert_allclose(fast.numerator[b], slow.numerator[0], atol=1e-9)
        np.testing.assert_allclose(fast.denominator[b], slow.denominator[0], atol=1e-9)


def test_subsequence_counts_add_up_to_the_binomial():
    tokens = np.random.default_rng(0).integers(3, size=(2, 30))
    np.testing.assert_array_equal(subsequence_counts(tokens, 3, 3).sum(axis=1), [4060, 4060])


def test_counts_and_names_of_types():
    types = TupleTypes.local(2, 2, 4)
    counts = types.counts(np.array([[0, 2, 1, 3]]))[0]
    assert {types.describe(i): int(counts[i]) for i in np.flatnonzero(counts)} == {
        "02": 1, "21": 1, "13": 1, "0_1": 1, "2_3": 1,
    }  # fmt: skip
    assert types.describe(types.index((0, 2), (2, 3))) == "2_3"


def test_zero_over_zero_is_an_error():
    types = TupleTypes.local(1, 0, 2)
    head = LocalHead(types, np.array([0.0, 1.0]), np.eye(2))
    output = head(np.array([[0, 0], [0, 1]]))
    assert output.error(np.array([0, 1])).tolist() == [1.0, 0.0]
    assert output.wrong(np.array([0, 1])).tolist() == [True, False]
    assert np.isnan(output.probabilities[0]).all()


def test_a_tie_is_wrong():
    output = Output(np.array([[1.0, 1.0], [1.0, 0.5]]), np.array([2.0, 1.5]))
    assert output.wrong(np.array([0, 0])).tolist() == [True, False]


def test_long_strings_match_a_direct_sum():
    rng = np.random.default_rng(1)
    head = random_head(rng, 3, 8, 4, labels=2)
    assert len(head.types.patterns) == 28
    tokens = rng.integers(4, size=(1, 100_000))
    output = head(tokens)
    place = 4 ** np.arange(3)[::-1]
    total = 0.0
    for p, pattern in enumerate(head.types.patterns):
        windows = np.stack([tokens[0, o : 100_000 - 8 + o] for o in pattern], axis=-1)
        total += head.weights[p * 64 + windows @ place].sum()
    # The direct sum stops 8 places before the end; what it misses is at most 8 tuples per pattern.
    assert 0 <= output.denominator[0] - total <= 28 * 8


def test_negative_weights_are_refused():
    types = TupleTypes.local(1, 0, 2)
    with pytest.raises(LengthwiseError, match="at least 0"):
        LocalHead(types, np.array([1.0, -1.0]), np.eye(2))
    with pytest.raises(LengthwiseError, match="no 3-tuple fits"):
        attention_reference(np.array([0]), 3, lambda *_: 1.0, lambda *_: np.ones(1))
