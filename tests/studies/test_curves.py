import numpy as np
import pytest
from curves import LEARNERS, _Posed, error_against_k, error_against_length, error_growth
from heads import TupleTypes
from planted import Planted, offset_patterns

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream


@pytest.fixture(scope="module")
def curves():
    return {c.learner: c for c in error_against_length(test_lengths=(16, 40), test_strings=60, heads=8)}


def test_locality_coupling_and_coverage_remove_the_error(curves):
    assert set(curves) == set(LEARNERS)
    for name in ("local", "non-local with PoSE", "far with coupling"):
        assert [p.error for p in curves[name].points] == [0.0, 0.0], name
        assert [p.settled for p in curves[name].points] == [60, 60], name


def test_without_them_new_lengths_fail(curves):
    for name in ("non-local", "far"):
        at_16, at_40 = curves[name].points
        assert at_16.error == 0.0
        assert at_40.error > 0.3
        assert at_40.settled == 0
        assert curves[name].unseen > 0


def test_the_numbers_are_counts_of_all_evaluations(curves):
    for curve in curves.values():
        assert curve.trained_on == 20_000
        assert all((p.strings, p.heads) == (60, 8) and 0 <= p.wrong <= 480 for p in curve.points)


def test_pose_pairs_by_a_second_way():
    types = TupleTypes(4, offset_patterns(2, 11))
    sample = Planted.marked(2).sample(4, 6, stream(0))
    counts = _Posed(types, 12, 1).counts(sample)
    assert counts.sum(axis=1).tolist() == [15] * 4
    plain = _Posed(types, 6, 1).counts(sample)
    np.testing.assert_array_equal(plain, types.counts(sample.tokens))


def test_more_tokens_need_more_strings():
    curves = {(c.k, c.trained_on): c for c in error_against_k((1, 2, 3), train_strings=(60, 3000), test_strings=100)}
    few = [curves[k, 60] for k in (1, 2, 3)]
    assert few[0].points[-1].error == 0 < few[1].points[-1].error < few[2].points[-1].error
    assert few[0].unseen == 0 < few[1].unseen < few[2].unseen
    assert all(curves[k, 3000].points[-1].error == 0 for k in (1, 2, 3))


def test_small_errors_grow_about_linearly_and_below_the_bound():
    for curve in error_growth(ks=(1, 2), test_lengths=(8, 32, 128), strings=200, seeds=2):
        assert 0.7 < curve.exponent < 1.2
        assert all(p.largest_error <= p.bound for p in curve.points)
        assert curve.points[0].heuristic == pytest.approx(curve.points[0].mean_error)
        assert curve.points[-1].mean_error > 5 * curve.points[0].mean_error


def test_unknown_learners_are_named():
    with pytest.raises(LengthwiseError, match="unknown learner 'near'"):
        error_against_length(learners=("near",))
