import numpy as np
import pytest
from heads import ExpHead, TupleTypes, train
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import Planted

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 3), st.booleans(), st.integers(0, 9999))
def test_gradient_equals_finite_differences(k, fixed, seed):
    rng = np.random.default_rng(seed)
    types = TupleTypes.local(k, k, 2)
    votes = rng.dirichlet(np.ones(3), size=types.size) if fixed else None
    head = ExpHead(types, rng.normal(size=types.size), rng.normal(size=(types.size, 3)), votes)
    counts = types.counts(rng.integers(2, size=(5, 8))).astype(float)
    labels = rng.integers(3, size=5)
    _, d_theta, d_phi = head.loss(counts, labels)
    for _ in range(6):
        a, b = rng.normal(size=head.theta.shape), rng.normal(size=head.phi.shape)
        values = [
            ExpHead(types, head.theta + e * a, head.phi + e * b, votes).loss(counts, labels)[0] for e in (1e-5, -1e-5)
        ]
        assert (values[0] - values[1]) / 2e-5 == pytest.approx((a * d_theta).sum() + (b * d_phi).sum(), abs=1e-7)


def test_loss_is_the_cross_entropy_of_the_table():
    rng = np.random.default_rng(0)
    types = TupleTypes.local(2, 3, 3)
    head = ExpHead(types, rng.normal(size=types.size), rng.normal(size=(types.size, 2)))
    tokens, labels = rng.integers(3, size=(6, 9)), rng.integers(2, size=6)
    probabilities = head.table()(tokens).probabilities
    expected = -np.log(probabilities[np.arange(6), labels]).mean()
    assert head.loss(types.counts(tokens).astype(float), labels)[0] == pytest.approx(expected)


def test_training_learns_a_local_parity_and_carries_over():
    planted, types = Planted.marked(2, span=3), TupleTypes.local(2, 3, 4)
    start = ExpHead(types, np.zeros(types.size), 0.1 * stream(0).normal(size=(types.size, 2)))
    result = train(start, planted, (8, 12), stream(0, "train"), steps=250)
    assert result.losses[-20:].mean() < 0.05 < result.losses[0]
    test = planted.sample(500, 60, stream(0, "test"))
    assert not result.head.table()(test.tokens).wrong(test.labels).any()


def test_bad_lengths_are_named():
    planted, types = Planted.marked(1), TupleTypes.local(1, 0, 4)
    with pytest.raises(LengthwiseError, match=r"got 5\.\.3"):
        train(ExpHead.flat(types, 2), planted, (5, 3), stream(0))
