from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest
from coupled_ids import check_local_coupling, dependency_spans, pose_coverage, pose_covers, pose_ids, super_tokens
from heads import TupleTypes, VersionSpace
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import Planted, Strided, offset_patterns

from lengthwise.core.batch import Batch, Column, Layout
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.core.vocab import Vocab
from lengthwise.positions.structure import reach


def copy_structure(n):
    """x_1 … x_n = y_1 … y_n with the places of the hand-made coupling and the parents of each token."""
    parents = np.full((1, 2 * n + 1, 1), -1)
    parents[0, n + 1 :, 0] = np.arange(n)
    places = np.concatenate([np.arange(2, n + 2), [1], np.arange(2, n + 2)])[None]
    return places, parents


@pytest.mark.parametrize("n", [3, 10, 50])
def test_span_grows_with_positions_and_not_with_places(n):
    places, parents = copy_structure(n)
    positions = np.arange(2 * n + 1)[None]
    assert dependency_spans(positions, parents).tolist() == [n]
    assert dependency_spans(places, parents).tolist() == [1]
    unscored = np.zeros(2 * n + 1, dtype=bool)
    assert dependency_spans(positions, parents, unscored).tolist() == [0]


def test_spans_by_a_second_way():
    rng = np.random.default_rng(0)
    ids, parents = rng.integers(20, size=(5, 8)), rng.integers(-1, 8, size=(5, 8, 3))
    expected = [
        max([abs(ids[b, t - 1] - ids[b, p]) for t in range(1, 8) for p in parents[b, t] if p >= 0], default=0)
        for b in range(5)
    ]
    assert dependency_spans(ids, parents).tolist() == expected


def test_spans_are_those_that_show_prints():
    rng = np.random.default_rng(1)
    columns = tuple(Column(t > 0, False, (), ()) for t in range(8))
    for _ in range(20):
        ids, parents = rng.integers(20, size=(3, 8)), rng.integers(-1, 8, size=(3, 8, 3))
        batch = Batch(Vocab.of("a"), Layout(1), np.zeros_like(ids), ids[..., None], columns)
        assert reach(batch, parents, ids[..., None]).span == dependency_spans(ids, parents).max()


def test_local_coupling_of_addition_and_its_faults():
    places = np.array([[2, 3, 4, 0, 2, 3, 4, 1, 2, 3, 4]])
    parents = np.full((1, 11, 4), -1)
    for j in range(3):
        parents[0, 8 + j, :2] = j, 4 + j
        if j:
            parents[0, 8 + j, 2:] = j - 1, 3 + j
    check = check_local_coupling(places, parents, window=1)
    assert check.holds
    assert (check.width, check.tokens, check.tokens_per_place, check.places) == (1, 3, 3, 4)
    assert check_local_coupling(places, parents, window=0).violations == 2
    assert not check_local_coupling(np.arange(1, 12)[None], parents, window=1).holds
    bare = places.copy()
    bare[0, 0] = 0
    assert check_local_coupling(bare, parents, window=1).unplaced == 2
    with pytest.raises(LengthwiseError, match="shape"):
        check_local_coupling(places, parents[0], window=1)


def test_super_tokens_are_the_ordered_tuples():
    tokens = np.array([[0, 1, 2, 9, 2, 1, 0]])
    coded = super_tokens(tokens, np.array([1, 2, 3, 0, 1, 2, 3]), alphabet=10)
    assert coded.tolist() == [[1 * 11 + 3, 2 * 11 + 2, 3 * 11 + 1]]
    uneven = super_tokens(tokens[:, :3], np.array([1, 1, 2]), alphabet=10)
    assert uneven.tolist() == [[1 * 11 + 2, 3 * 11]]


@pytest.mark.parametrize("k", [2, 3])
def test_a_far_problem_becomes_exact_under_coupling(k):
    """Corollary C: offsets ℓ/k are unseen at every new length, but in super-tokens the problem is k = 1, λ = 0."""
    planted, placement = Planted.marked(k, placement=Strided(k)), Strided(k)
    train = [planted.sample(300, k * m, stream(0, k, m)) for m in (4, 5)]
    test = planted.sample(100, k * 15, stream(0, k, "test"))
    far = TupleTypes(4, tuple(tuple(range(0, k * m, m)) for m in (4, 5, 15)))
    plain = VersionSpace.of(far, train, 2)
    assert not plain.settled(far.counts(test.tokens), test.labels).any()
    near = TupleTypes.local(1, 0, 5**k)
    coded = [super_tokens(s.tokens, placement.places(s.tokens.shape[1]), 4) for s in train]
    counts = np.concatenate([near.counts(c) for c in coded])
    coupled = VersionSpace.of_counts(near, counts, np.concatenate([s.labels for s in train]), 2)
    counts = near.counts(super_tokens(test.tokens, placement.places(k * 15), 4))
    assert coupled.settled(counts, test.labels).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 12), st.integers(0, 10), st.integers(1, 3), st.integers(0, 999))
def test_pose_ids_are_increasing_and_inside(length, more, chunks, seed):
    chunks = min(chunks, length)
    ids = pose_ids(20, length, length + more, chunks, stream(seed))
    assert (np.diff(ids, axis=1) > 0).all()
    assert ids.min() >= 0
    assert ids.max() < length + more
    assert ((np.diff(ids, axis=1) > 1).sum(axis=1) <= chunks - 1).all()


@pytest.mark.parametrize(("length", "target", "chunks"), [(4, 8, 1), (4, 8, 2), (4, 9, 3), (5, 8, 2), (3, 7, 3)])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_coverage_equals_trying_all_cuts_and_jumps(k, length, target, chunks):
    seen = set()
    for cuts in combinations(range(1, length), chunks - 1):
        for jumps in combinations_with_replacement(range(target - length + 1), chunks):
            ids = [i + jumps[sum(i >= cut for cut in cuts)] for i in range(length)]
            seen |= {tuple(i - s[0] for i in s) for s in combinations(ids, k)}
    patterns = offset_patterns(k, target - 1)
    assert {p for p in patterns if pose_covers(p, length, target, chunks)} == seen
    exact = pose_coverage(k, length, target, chunks)
    assert (exact.covered, exact.patterns) == (len(seen), len(patterns))


def test_sampled_coverage_is_near_the_exact_one():
    exact = pose_coverage(3, 20, 100, 2)
    sampled = pose_coverage(3, 20, 100, 2, stream(0), samples=5000)
    assert abs(exact.share - sampled.share) < 0.03
    assert pose_coverage(3, 20, 100, 1).share < exact.share < pose_coverage(3, 20, 100, 3).share == 1
    with pytest.raises(LengthwiseError, match="too many to list"):
        pose_coverage(6, 50, 500, 2)
