"""Selection rules against searches written as plain loops, and on losses whose answer is known."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.core.rng import stream
from lengthwise.influence.measure import SELECTION_RULES, Scorer
from made_up_models import WrittenDown, additive, some_windows

CONTEXT, RECENT = 12, 4


def scorer_of(model: WrittenDown, *, keep_first: bool = False, count: int = 3) -> Scorer:
    windows = some_windows(count, CONTEXT)
    return Scorer(model, windows.tokens[:, :-1], windows.tokens[:, -1], RECENT, keep_first=keep_first)


def draws(i: int) -> np.random.Generator:
    return stream(7, i)


def rough(seed: int):
    """Losses with a term for every pair of visible tokens, different for each target."""
    rng = np.random.default_rng(seed)
    single, pair = rng.normal(size=(3, CONTEXT)), rng.normal(size=(3, CONTEXT, CONTEXT))

    def loss(target: int, seen: frozenset[int]) -> float:
        inside = sorted(seen)
        return 5 + float(single[target, inside].sum() + sum(pair[target, a, b] for a, b in combinations(inside, 2)))

    return loss


@given(st.integers(0, 10_000), st.integers(1, 5), st.booleans())
def test_greedy_is_the_plain_search_with_one_mask_at_a_time(seed: int, most: int, keep_first: bool):
    loss = rough(seed)
    scorer = scorer_of(WrittenDown(loss), keep_first=keep_first)
    order = SELECTION_RULES.build("greedy").order(scorer, most, draws)
    path = scorer.path(order)
    always = set(range(CONTEXT - RECENT, CONTEXT)) | ({0} if keep_first else set())
    for target in range(3):
        seen = set(always)
        for step in range(most):
            tried = {j: loss(target, frozenset(seen | {j})) for j in range(CONTEXT - RECENT) if j not in seen}
            best = min(tried, key=lambda j: tried[j])
            assert order[target, step] == best
            assert path[target, step] == tried[best]
            seen.add(best)


@pytest.mark.parametrize("name", ["greedy", "one-shot", "gradient-input", "surrogate"])
def test_where_tokens_help_each_by_itself_every_rule_ranks_them(name: str):
    gain = lambda target, p: [0.1, 0.9, 0.0, 0.7, -0.2, 0.5, 0.05, 0.3][p] if p < 8 else 0.0  # noqa: E731
    order = SELECTION_RULES.build(name).order(scorer_of(WrittenDown(additive(gain))), 4, draws)
    assert order.tolist() == [[1, 3, 5, 7]] * 3


def test_greedy_is_blind_to_tokens_that_help_only_together():
    """Parity: neither of 2 and 6 gains anything alone, both together gain all."""
    model = WrittenDown(lambda target, seen: 0.0 if {2, 6} <= seen else 1.0)
    order = SELECTION_RULES.build("greedy").order(scorer_of(model), 2, draws)
    assert order.tolist() == [[0, 1]] * 3
    assert scorer_of(model).path(np.array([[2, 6]] * 3)).tolist() == [[1.0, 0.0]] * 3


def test_one_shot_repeats_what_is_redundant_and_greedy_does_not():
    """Tokens 0 and 1 say the same; 5 says something else, less."""
    model = WrittenDown(lambda target, seen: 3 - 2 * bool(seen & {0, 1}) - 0.5 * (5 in seen))
    orders = {name: SELECTION_RULES.build(name).order(scorer_of(model), 2, draws) for name in ("greedy", "one-shot")}
    assert orders["greedy"].tolist() == [[0, 5]] * 3
    assert orders["one-shot"].tolist() == [[0, 1]] * 3


def test_controls_and_attention():
    scorer = scorer_of(WrittenDown(lambda target, seen: 1.0))
    assert SELECTION_RULES.build("last-k").order(scorer, 3, draws).tolist() == [[7, 6, 5]] * 3
    assert SELECTION_RULES.build("attention").order(scorer, 3, draws).tolist() == [[3, 4, 2]] * 3
    order = SELECTION_RULES.build("random").order(scorer, 8, draws)
    assert all(sorted(row) == list(range(8)) for row in order.tolist())
    assert len({tuple(row) for row in order.tolist()}) == 3
    again = SELECTION_RULES.build("random").order(scorer_of(WrittenDown(lambda target, seen: 1.0)), 8, draws)
    assert (order == again).all()


@pytest.mark.parametrize("name", sorted(SELECTION_RULES))
def test_every_rule_stays_in_the_block_and_repeats_nothing(name: str):
    for keep_first in (False, True):
        scorer = scorer_of(WrittenDown(rough(3)), keep_first=keep_first)
        order = SELECTION_RULES.build(name).order(scorer, 7, draws)
        assert order.shape == (3, 7)
        assert all(len(set(row)) == 7 and set(row) <= set(range(int(keep_first), 8)) for row in order.tolist())


def test_losses_of_many_masks_in_any_order_are_those_of_one_at_a_time():
    loss = rough(5)
    model = WrittenDown(loss)
    scorer = scorer_of(model)
    rng = np.random.default_rng(0)
    visible = rng.random((40, CONTEXT)) < 0.5
    visible[:, -1] = True
    rows = rng.integers(3, size=40)
    found = scorer.losses(rows, visible)
    expected = [loss(int(r), frozenset(np.flatnonzero(v).tolist())) for r, v in zip(rows, visible, strict=True)]
    assert found.tolist() == expected
    assert scorer.forwards == 40
    assert 1 < len(model.calls) < 40


def test_long_short_and_singles():
    scorer = scorer_of(WrittenDown(lambda target, seen: float(sum(seen) + 100 * target)), keep_first=True)
    assert scorer.block.tolist() == list(range(1, 8))
    assert scorer.short.tolist() == [38.0 + 100 * t for t in range(3)]
    assert scorer.long.tolist() == [66.0 + 100 * t for t in range(3)]
    assert scorer.singles.tolist() == [[38.0 + j + 100 * t for j in range(1, 8)] for t in range(3)]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_is_refused(value: float):
    scorer = scorer_of(WrittenDown(lambda target, seen: value if len(seen) == 5 else 1.0))
    assert scorer.long.tolist() == [1.0] * 3
    with pytest.raises(LengthwiseError, match=f"written-down gives a loss of {value} nats"):
        SELECTION_RULES.build("greedy").order(scorer, 2, draws)


def test_bad_rules():
    with pytest.raises(UnknownNameError, match="Did you mean 'greedy'"):
        SELECTION_RULES.build("gredy")
    with pytest.raises(LengthwiseError, match="keep must be below 1"):
        SELECTION_RULES.build({"name": "surrogate", "keep": 1.0})
