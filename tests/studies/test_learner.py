from itertools import product

import numpy as np
import pytest
from heads import HeadClass, Setting, Strings, TupleTypes, VersionSpace, admissible, empirical_risk, exact_learner
from planted import Planted

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream


def all_tables(types, classes=2):
    """Every head with weights 0/1 and votes for one label: (1 + Y)^N of them."""
    choices = np.array(list(product(range(classes + 1), repeat=types.size)))
    weights = (choices > 0).astype(float)
    return HeadClass(types, weights, np.eye(classes)[np.maximum(choices - 1, 0)])


@pytest.fixture
def tiny():
    """k = 2, λ = 1, background 0: words 11 -> 0, 12 -> 1."""
    setting = Setting(3, (0,), ((1, 1), (1, 2)), (0, 1), ((0, 1),), 1)
    return setting, all_tables(setting.types)


def test_risk_equals_evaluating_each_head(tiny):
    setting, heads = tiny
    samples = [admissible(setting, n) for n in (2, 3, 4)]
    risks = empirical_risk(heads, samples)
    for h in range(0, len(heads), 97):
        slow = np.mean([heads[h](s.tokens).error(s.labels).mean() for s in samples])
        assert risks[h] == pytest.approx(slow, abs=1e-12)


def test_all_minimizers_are_reported(tiny):
    setting, heads = tiny
    short = exact_learner(heads, [admissible(setting, 2)])
    assert short.risk == 0
    assert short.tied
    full = exact_learner(heads, [admissible(setting, 4)])
    assert full.risk == 0
    assert 1 < len(full.indices) < len(short.indices)
    by_hand = [h for h, risk in enumerate(full.risks) if risk == 0.0]
    assert list(full.indices) == by_hand


def test_minimizers_at_a_sufficient_length_are_exact_at_longer_ones(tiny):
    setting, heads = tiny
    found = exact_learner(heads, [admissible(setting, setting.sufficient_length)])
    longer = empirical_risk(heads, [admissible(setting, 9)])
    assert (longer[list(found.indices)] == 0).all()


@pytest.mark.parametrize("length", [2, 3, 4])
def test_version_space_describes_exactly_the_zero_risk_heads(tiny, length):
    setting, heads = tiny
    strings = admissible(setting, length)
    zero = set(exact_learner(heads, [strings]).indices)
    space = VersionSpace.of(setting.types, [strings], 2)
    described = set()
    for h in range(len(heads)):
        positive, vote = heads.weights[h] > 0, heads.votes[h].argmax(axis=1)
        allowed = ((space.label == -1) | (space.label == vote)) | ~positive
        if allowed.all() and (space.covers & positive).any(axis=1).all():
            described.add(h)
    assert described == zero
    drawn = space.draw(200, stream(0))
    assert (empirical_risk(drawn, [strings]) == 0).all()


@pytest.mark.parametrize("length", [2, 3, 4])
def test_settled_means_every_minimizer_is_right(tiny, length):
    setting, heads = tiny
    found = exact_learner(heads, [admissible(setting, length)])
    space = VersionSpace.of(setting.types, [admissible(setting, length)], 2)
    tests = admissible(setting, 6)
    settled = space.settled(setting.types.counts(tests.tokens), tests.labels)
    for m in range(len(tests.labels)):
        one = Strings(tests.tokens[m : m + 1], tests.labels[m : m + 1])
        worst = empirical_risk(heads, [one])[list(found.indices)].max()
        assert settled[m] == (worst == 0)
    assert settled.all() == (length == 4)


def test_impossible_samples_are_named():
    types = TupleTypes.local(1, 0, 2)
    strings = Strings(np.array([[0, 1], [1, 0]]), np.array([0, 1]))
    with pytest.raises(LengthwiseError, match="no head of the class"):
        VersionSpace.of(types, [strings], 2)
    with pytest.raises(LengthwiseError, match="at least one group"):
        empirical_risk(all_tables(types), [])


def test_enough_planted_samples_settle_longer_strings():
    planted = Planted.marked(2, span=2)
    types = TupleTypes.local(2, 2, 4)
    space = VersionSpace.of(types, [planted.sample(400, n, stream(0, n)) for n in (6, 7)], 2)
    test = planted.sample(200, 40, stream(0, "test"))
    assert space.settled(types.counts(test.tokens), test.labels).all()
