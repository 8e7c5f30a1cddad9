"""What is drawn has the distribution that the task states, row by row, although layouts are drawn per batch."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.tasks import TASKS
from lengthwise.tasks.addition import BinaryAddition, Operands, extra_digit_chance
from lengthwise.tasks.base import bits_with_ones, distinct, inverse, shuffles
from lengthwise.tasks.parity import SparseParity, SparseParityLayout
from lengthwise.tasks.variable_assignment import Chains, VariableAssignment


def assert_uniform(counts: Counter, outcomes: int) -> None:
    """Chi-square within six standard deviations of its mean: fails by chance about once in 10⁸."""
    assert len(counts) == outcomes
    total = sum(counts.values())
    expected = total / outcomes
    chi_square = sum((count - expected) ** 2 / expected for count in counts.values())
    assert abs(chi_square - (outcomes - 1)) < 6 * np.sqrt(2 * outcomes) + 6


@pytest.mark.parametrize(("pool", "count"), [(9, 3), (5, 5), (30, 2)])
def test_distinct_samples_are_uniform(pool: int, count: int) -> None:
    samples = distinct(stream(0, pool), pool, count, 60_000)
    assert_uniform(Counter(map(tuple, samples.tolist())), int(np.prod(range(pool - count + 1, pool + 1))))


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 5))
def test_distinct_samples_hold_nothing_twice(pool: int, count: int, seed: int) -> None:
    if count > pool:
        with pytest.raises(ValueError, match="do not fit"):
            distinct(stream(seed), pool, count, 3)
        return
    samples = distinct(stream(seed), pool, count, 3)
    assert samples.shape == (3, count)
    assert all(len(set(row)) == count and set(row) <= set(range(pool)) for row in samples.tolist())


@pytest.mark.parametrize("count", [0, 1, 4, 1500])
def test_shuffles_are_permutations_and_have_inverses(count: int) -> None:
    orders = shuffles(stream(3), count, 20_000 if count == 4 else 3)
    assert (np.sort(orders, axis=1) == np.arange(count)).all()
    assert (np.take_along_axis(orders, inverse(orders), axis=1) == np.arange(count)).all()
    if count == 4:
        assert_uniform(Counter(map(tuple, orders.tolist())), 24)


def test_bits_with_ones_are_uniform_given_their_number() -> None:
    rows = bits_with_ones(stream(1), 5, np.full(20_000, 2))
    assert (rows.sum(axis=1) == 2).all()
    assert_uniform(Counter(map(tuple, rows.tolist())), 10)


def _numbers(size: int) -> list[str]:
    return ["".join(bits) for bits in product("01", repeat=size) if size == 1 or bits[0] == "1"]


@pytest.mark.parametrize(("first", "second"), list(product(range(1, 5), range(1, 4))))
def test_binary_addition_draws_operands_uniformly_given_the_layout(first: int, second: int) -> None:
    task = BinaryAddition()
    length = first + second + 2
    for carry in (False, True):
        operands = [
            f"{x}+{y}"
            for x, y in product(_numbers(first), _numbers(second))
            if (len(f"{int(x, 2) + int(y, 2):b}") > max(first, second)) == carry
        ]
        if not operands:
            continue
        batch = task.batch(length, 5000, stream(first, second), Operands(length, first, second, carry))
        words, counts = np.unique(batch.input_ids[:, 1:length], axis=0, return_counts=True)
        assert_uniform(
            Counter({"".join(task.vocab.decode(w)): int(c) for w, c in zip(words, counts, strict=True)}), len(operands)
        )
        assert {"".join(task.vocab.decode(word)) for word in words} == set(operands)


@pytest.mark.parametrize(("first", "second"), list(product(range(1, 5), range(1, 5))))
def test_an_extra_digit_is_as_likely_as_among_all_operands(first: int, second: int) -> None:
    sums = [int(x, 2) + int(y, 2) for x, y in product(_numbers(first), _numbers(second))]
    share = sum(total >= 2 ** max(first, second) for total in sums) / len(sums)
    assert extra_digit_chance(first, second) == pytest.approx(share, abs=1e-12)


def test_layouts_of_binary_addition_are_drawn_with_that_chance() -> None:
    rng = stream(0, "layouts")
    # Length 5 is 1 + 2 or 2 + 1 digits: the first has an extra digit where 1 meets 11, one case in four.
    drawn = Counter((x.first, x.carry) for x in (BinaryAddition().layout(5, rng) for _ in range(120)))
    for first in (1, 2):
        assert drawn[first, True] / 120 == pytest.approx(0.125, abs=5 * 0.031)
        assert drawn[first, False] / 120 == pytest.approx(0.375, abs=5 * 0.045)


@pytest.mark.parametrize("length", [1, 2, 3, 10, 11])
def test_bits_without_tie_have_a_uniform_number_of_zeros(length: int) -> None:
    batch = TASKS.build("bin_majority").batch(length, 30_000, stream(4))
    zeros = (batch.input_ids[:, 1 : length + 1] == batch.vocab["0"]).sum(axis=1)
    assert_uniform(Counter(zeros.tolist()), length + length % 2)
    assert 2 * length not in (4 * zeros)


def test_majority_letters_are_iid_given_that_one_leads() -> None:
    batch = TASKS.build("majority", letters=3).batch(4, 40_000, stream(5))
    strings = Counter(map(tuple, batch.input_ids[:, 1:5].tolist()))
    counted = [sorted(Counter(word).values()) for word in product(range(3), repeat=4)]
    assert_uniform(strings, sum(len(word) == 1 or word[-1] > word[-2] for word in counted))


def test_training_draws_every_number_of_marked_bits_row_by_row() -> None:
    batch = SparseParity(k_max=4).batch(9, 20_000, stream(6))
    marked = np.isin(batch.input_ids, [batch.vocab["0*"], batch.vocab["1*"]]).sum(axis=1)
    assert_uniform(Counter(marked.tolist()), 4)
    short = SparseParity(k_max=4).batch(2, 100, stream(6))
    assert set((short.places[:, 1:3, 0]).sum(axis=1).tolist()) == {1, 2}


@pytest.mark.parametrize("span", [None, 4])
def test_marked_bits_lie_anywhere_or_in_one_window(span: int | None) -> None:
    batch = SparseParity(k_max=2, span=span).batch(7, 20_000, stream(7), SparseParityLayout(7, 2))
    pairs = Counter(tuple(np.flatnonzero(row)) for row in batch.places[:, 1:8, 0])
    if span is None:
        assert_uniform(pairs, 21)
    else:
        assert set(pairs) == {(i, j) for i in range(7) for j in range(i + 1, 7) if j - i <= span}


def test_more_ones_than_any_in_training_with_balanced_answers() -> None:
    task = SparseParity(k_max=4, k_test=(4, 5, 8))
    assert [layout.axes for layout in task.test_layouts(20)] == [{"k": 4}, {"k": 5}, {"k": 8}, {"k": 8, "min_ones": 5}]
    batch = task.batch(20, 20_000, stream(8), task.test_layouts(20)[-1])
    ones = (batch.input_ids == batch.vocab["1*"]).sum(axis=1)
    assert_uniform(Counter(ones.tolist()), 4)
    assert ones.min() == 5
    balanced = task.batch(20, 20_000, stream(9), SparseParityLayout(20, 4, min_ones=0))
    assert_uniform(Counter(balanced.input_ids[:, -1].tolist()), 2)
    assert task.chance(SparseParityLayout(20, 5, min_ones=5)) == 1.0
    with pytest.raises(LengthwiseError, match="5 marked bits can't hold 6 ones; use k of 6 or more"):
        task.batch(20, 1, stream(0), SparseParityLayout(20, 5, min_ones=6))


def test_balanced_asks_every_k_for_all_numbers_of_ones() -> None:
    task = SparseParity(k_max=4, k_test=(2, 8), balanced=True)
    even, every, beyond = {"k": 2}, {"k": 8, "min_ones": 0}, {"k": 8, "min_ones": 5}
    assert [layout.axes for layout in task.test_layouts(20)] == [even, {**even, "min_ones": 0}, {"k": 8}, every, beyond]
    batch = task.batch(20, 40_000, stream(10), task.test_layouts(20)[3])
    ones = (batch.input_ids == batch.vocab["1*"]).sum(axis=1)
    # Both answers are equally likely; 0, 2, 4, 6, 8 share one half, 1, 3, 5, 7 the other.
    assert_uniform(Counter((ones % 2).tolist()), 2)
    assert_uniform(Counter(ones[ones % 2 == 0].tolist()), 5)
    assert_uniform(Counter(ones[ones % 2 == 1].tolist()), 4)


def test_training_depths_are_uniform_and_half_of_the_layouts_have_equal_chains() -> None:
    task = VariableAssignment()
    layouts = [task.layout(8, stream(index, "depths")) for index in range(3_000)]
    assert_uniform(Counter(layout.depths[0] for layout in layouts), 8)
    assert all(sum(layout.depths) == 8 and min(layout.depths) >= 1 for layout in layouts)
    equal = np.mean([len(set(layout.depths[:-1])) <= 1 and layout.depths[-1] <= layout.depths[0] for layout in layouts])
    assert 0.5 < equal < 0.85
    assert len({layout.depths for layout in layouts}) > 60


def test_test_chains_are_equal_end_in_different_values_and_are_shuffled_together() -> None:
    task = VariableAssignment(names=50)
    layouts = task.test_layouts(12)
    assert [layout.axes for layout in layouts] == [{"chains": 4, "depth": 3}, {"chains": 1, "depth": 12}]
    assert [task.chance(layout) for layout in layouts] == [0.25, 1.0]
    assert [x.axes for x in VariableAssignment(scratchpad=False).test_layouts(12)] == [{"chains": 4, "depth": 3}]
    assert task.test_layouts(10) == []
    batch = task.batch(12, 4000, stream(11), layouts[0])
    values = np.where(batch.input_ids[:, 1:25] >= task.vocab["0"], batch.input_ids[:, 1:25], 0)
    for row in values[:50]:
        ends = row[row > 0]
        assert len(ends) == len(set(ends.tolist())) == 4
    # Where the queried chain's first line stands, and which of the four values in order of appearance is the answer.
    assert_uniform(Counter(batch.places[:, batch.prompt_length, 0].tolist()), 12)
    order = [row[row > 0].tolist().index(answer) for row, answer in zip(values, batch.input_ids[:, -2], strict=True)]
    assert_uniform(Counter(order), 4)


def test_few_values_still_give_every_chain_its_own() -> None:
    task = VariableAssignment(names=40, values=4)
    for index in range(300):
        layout = task.layout(30, stream(index))
        assert isinstance(layout, Chains)
        assert len(layout.depths) <= 4
        assert sum(layout.depths) == 30
