import numpy as np
import pytest
from heads import LocalHead, Margins, Setting, admissible, heuristic_error, measure_margins, number_of_tuples, theorem_b
from planted import Planted, offset_patterns

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream


def noisy_head(setting, rng):
    """Planted types vote right; the others have a little weight and any vote."""
    planted = setting.planted_label()
    stray = rng.random(setting.types.size) * 10 ** rng.uniform(-4, -1)
    weights = np.where(planted >= 0, rng.uniform(0.5, 2, setting.types.size), stray)
    votes = rng.dirichlet(np.ones(setting.classes), size=setting.types.size)
    return LocalHead(setting.types, weights, np.where(planted[:, None] >= 0, np.eye(setting.classes)[planted], votes))


@pytest.mark.parametrize(("k", "span"), [(1, 0), (2, 1), (2, 2), (3, 2)])
def test_no_string_of_a_longer_length_exceeds_the_bound(k, span):
    setting = Setting.of(Planted.marked(k, span=span), span)
    ratios = []
    for seed in range(40):
        head = noisy_head(setting, stream(seed, k, span))
        for length in (setting.sufficient_length, setting.sufficient_length + 1):
            margins = measure_margins(setting, head, length)
            for longer in (length, length + 1, length + 2):
                strings = admissible(setting, longer)
                worst = head(strings.tokens).error(strings.labels).max()
                bound = theorem_b(margins, span, longer)
                assert worst <= bound.value * (1 + 1e-9)
                ratios.append(worst / bound.value)
    print(f"k={k} λ={span}: largest error / bound = {max(ratios):.3f}")


def test_bound_names_its_assumptions_and_limits():
    margins = Margins(6, 10, 0.01, 1.0, 2.0)
    bound = theorem_b(margins, 2, 20)
    assert bound.value == pytest.approx(0.01 * 2 * 20)
    assert all(f"(C{i})" in bound.render() for i in (1, 2, 3, 4))
    assert theorem_b(margins, 2, 60).vacuous
    for bad, message in [((margins, 3, 20), r"2\(λ \+ 1\) = 8"), ((margins, 2, 5), "6 or more, got 5")]:
        with pytest.raises(LengthwiseError, match=message):
            theorem_b(*bad)


def test_heuristic_counts_tuples():
    assert number_of_tuples(9, 3, None) == 84
    expected = sum(1 for p in offset_patterns(3, 4) for _ in range(9 - p[-1]))
    assert number_of_tuples(9, 3, 4) == expected
    local, far = heuristic_error(0.01, 3, 20, 200, span=4), heuristic_error(0.01, 3, 20, 200, span=None)
    assert 0.01 < local.value < far.value < 1
    assert heuristic_error(0.01, 3, 20, 20, span=4).value == pytest.approx(0.01)
    assert "not a bound" in far.render()
