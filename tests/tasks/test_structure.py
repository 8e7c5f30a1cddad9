"""The numbers that the theory is about: sparsity and span."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from lengthwise.core.batch import Batch
from lengthwise.core.rng import stream
from lengthwise.positions.schemes import SCHEMES
from lengthwise.positions.structure import structure
from lengthwise.tasks import TASKS, Task


def sparsity(batch: Batch) -> int:
    return int((batch.parents >= 0).sum(axis=2).max())


def span(batch: Batch, ids: np.ndarray) -> int:
    """Largest |id of the token that predicts − id of a parent| over scored tokens; ids ``[B T]``."""
    widest = 0
    for row in range(batch.size):
        for t in np.flatnonzero(batch.scored):
            parents = batch.parents[row, t]
            distances = np.abs(ids[row, t - 1] - ids[row, parents[parents >= 0]])
            widest = max(widest, int(distances.max(initial=0)))
    return widest


def sequential(batch: Batch) -> np.ndarray:
    return np.broadcast_to(np.arange(batch.tokens), batch.input_ids.shape)


@pytest.mark.parametrize(("n", "expected"), [(5, 12), (20, 42), (100, 202)])
def test_addition_is_sparse_at_all_lengths_and_local_only_when_coupled(n: int, expected: int) -> None:
    batch = TASKS.build("addition").batch(n, 2, stream(0))
    assert sparsity(batch) == 5
    assert span(batch, sequential(batch)) == expected
    assert span(batch, batch.places[:, :, 0]) == 1


def test_parity_is_dense_and_its_scratchpad_is_not() -> None:
    for n in (3, 10, 40):
        assert sparsity(TASKS.build("parity").batch(n, 1, stream(0))) == n
        for name in ("parity-scratchpad", "parity-scratchpad-offset-one"):
            batch = TASKS.build(name).batch(n, 1, stream(0))
            assert sparsity(batch) == 2
            assert span(batch, batch.places[:, :, 0]) <= 1
            assert span(batch, sequential(batch)) == n


def test_with_offset_one_the_bit_is_alone_one_place_above_the_token_that_asks() -> None:
    """`011001=010001` has `2 3 4 5 6 7 | 1 2 3 4 5 6 7` (Cho et al. 2024, public code); the end's place is ours."""
    batch = TASKS.build("parity-scratchpad-offset-one").batch(6, 1, stream(0))
    assert batch.places[0, :, 0].tolist() == [0, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 7, 8]
    places, cut = batch.places[0, :, 0], batch.prompt_length
    for t in range(cut, cut + 6):
        assert np.flatnonzero(places[:t] == places[t - 1] + 1).tolist() == [batch.parents[0, t].tolist()[0]]


def _task(name: str, **fields: object) -> Task:
    return TASKS.build(name, **fields)


def test_sparse_parity_has_at_most_k_parents_within_its_span() -> None:
    for n in (10, 60):
        batch = _task("sparse-parity", k_max=3, span=5).batch(n, 300, stream(1))
        marked = np.where(batch.parents[:, -1] >= 0, batch.parents[:, -1], batch.parents[:, -1].max(axis=1)[:, None])
        assert sparsity(batch) == 3
        assert np.ptp(marked, axis=1).max() == 5


def test_variable_assignment_has_one_parent_per_token_and_is_local_within_places() -> None:
    task = _task("variable-assignment")
    for n in (8, 40):
        for layout in task.test_layouts(n):
            batch = task.batch(n, 20, stream(2), layout)
            assert sparsity(batch) == 1
            # A child's parent stands in the child's own line; only finding the next line is a jump, and ids tell it.
            steps = np.flatnonzero(batch.scored)[1:-1:2]
            for row in range(batch.size):
                for t in steps:
                    assert batch.places[row, t - 1, 0] == batch.places[row, batch.parents[row, t, 0], 0]


@pytest.mark.parametrize(
    ("base", "second", "length"), [(2, 1, 6), (2, 2, 6), (3, 2, 5), (3, 3, 5), (10, 1, 4), (5, 2, 5)]
)
def test_a_digit_of_a_product_by_a_short_factor_depends_on_few_tokens(base: int, second: int, length: int) -> None:
    """Over all products there are: equal parents, equal digit; and their number does not grow."""
    task = TASKS.build({"name": "multiplication", "base": base, "second": second})
    batch = task.batch(length, 1, stream(0, "product"))
    every = np.array(list(itertools.product(range(base), repeat=length + second)))
    prompts = np.column_stack([every[:, :length], every[:, :1], every[:, length:], every[:, :1]])
    numbers = [(part * base ** np.arange(part.shape[1])).sum(axis=1) for part in np.split(every, [length], axis=1)]
    product = (numbers[0] * numbers[1])[:, None] // base ** np.arange(length + second) % base
    strings = np.column_stack([every[:, :1], prompts, product])
    for t in range(batch.prompt_length, batch.prompt_length + length + second):
        parents = batch.parents[0, t]
        known = strings[:, parents[parents >= 0]]
        assert known.shape[1] <= 2 * second + 3
        assert len(np.unique(known, axis=0)) == len(np.unique(np.column_stack([known, strings[:, t]]), axis=0))


def test_structure_is_the_largest_over_all_layouts_and_levels_of_positions() -> None:
    """Sums of few numbers need fewer tokens; on the second level a sum is one place behind its operand."""
    sums, coupled = TASKS.build("addition-running-sums"), SCHEMES.build("coupled")
    found = [structure(sums, coupled, length, stream(0, "sums", length)).parents for length in (5, 10, 20)]
    assert [reach.count for reach in found] == [5, 5, 5]
    assert [reach.span for reach in found] == [1, 1, 1]
    product = TASKS.build("multiplication-scratchpad")
    (layout,) = product.test_layouts(6)
    batch = product.batch(6, 8, stream(0, "product"), layout)
    spans = [span(batch, batch.places[:, :, level]) for level in range(3)]
    assert structure(product, coupled, 6, stream(0, "product")).parents.span == max(spans) > spans[0]


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("copy", "a b c d e"),
        ("reverse", "e d c b a"),
        ("duplicate", "a b c d e a b c d e"),
        ("odds-first", "a c e b d"),
    ],
)
def test_a_string_is_arranged_as_its_task_says(name: str, answer: str) -> None:
    """What is written and what is answered are one function here, so both are held against strings."""
    task = TASKS.build({"name": name, "symbols": "distinct", "letters": 5})
    assert task.solve(["<bos>", "a", "b", "c", "d", "e", "<sep>"]) == [*answer.split(), "<eos>"]
    batch = task.batch(5, 3, stream(0, name))
    for row in range(3):
        prompt, rest = batch.text(row)[: batch.prompt_length], batch.text(row)[batch.prompt_length :]
        assert rest == [prompt[1 + "abcde".index(letter)] for letter in answer.split()] + ["<eos>"]
