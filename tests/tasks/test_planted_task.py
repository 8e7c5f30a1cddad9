"""Planted correlations as a task: placements, labels and what has to be refused."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.planted import PlantedTask


def marked(task: Task, length: int, size: int = 300) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Positions ``[B, k]`` and values ``[B, k]`` of the marked tokens as the text shows them, and the answers."""
    batch = task.batch(length, size, stream(0, "planted", length))
    rows = [batch.text(row) for row in range(size)]
    where = [[i - 1 for i, token in enumerate(row) if token.endswith("*")] for row in rows]
    values = [[int(token[:-1]) for token in row if token.endswith("*")] for row in rows]
    return np.array(where), np.array(values), [row[-1] for row in rows]


@pytest.mark.parametrize(
    ("label", "oracle"),
    [
        ("parity", lambda word: sum(word) % 2),
        ({"name": "sum_mod", "modulus": 5}, lambda word: sum(word) % 5),
        ("majority", lambda word: min(word, key=lambda value: (-word.count(value), value))),
        ({"name": "lookup", "m": 3, "table": [*range(27)]}, lambda word: 9 * word[0] + 3 * word[1] + word[2]),
    ],
    ids=["parity", "sum", "majority", "lookup"],
)
def test_the_answer_is_g_of_the_marked_values(label, oracle):
    _, values, answers = marked(TASKS.build("planted", k=3, values=3, label=label), 9)
    assert answers == [str(oracle(word)) for word in values.tolist()]
    assert len(set(answers)) > 1


def test_placements_put_the_marks_where_they_say():
    where, _, _ = marked(TASKS.build("planted", k=3), 8, 2000)
    assert len({tuple(row) for row in where.tolist()}) == 56, "every subset of 3 among 8"
    where, _, _ = marked(TASKS.build("planted", k=3, span=4), 12, 2000)
    assert (where[:, -1] - where[:, 0]).max() == 4
    assert {int(first) for first in where[:, 0]} == set(range(10))
    where, _, _ = marked(TASKS.build("planted", k=3, placement="strided"), 12)
    assert {tuple(row) for row in where.tolist()} == {(i, i + 4, i + 8) for i in range(4)}
    where, _, _ = marked(TASKS.build("planted", k=2, placement=[[0, 3], [0, 1]]), 5)
    assert {tuple(row) for row in where.tolist()} == {(0, 3), (1, 4), (0, 1), (1, 2), (2, 3), (3, 4)}


def test_a_token_that_the_table_ignores_is_no_parent():
    task = TASKS.build("planted", k=3, label={"name": "lookup", "m": 2, "table": [0, 0, 1, 1, 0, 0, 1, 1]})
    where, values, answers = marked(task, 7)
    batch = task.batch(7, 300, stream(0, "planted", 7))
    assert batch.parents.shape[2] == 1
    assert np.array_equal(batch.parents[:, -1, 0], where[:, 1] + 1)
    assert answers == [str(value) for value in values[:, 1]]


@settings(max_examples=40, deadline=None)
@given(k=st.integers(1, 4), values=st.integers(2, 3), modulus=st.integers(2, 6), extra=st.integers(0, 6))
def test_chance_is_one_over_the_labels_that_occur(k: int, values: int, modulus: int, extra: int):
    task = TASKS.build("planted", k=k, values=values, label={"name": "sum_mod", "modulus": modulus})
    possible = {sum(word) % modulus for word in product(range(values), repeat=k)}
    batch = task.batch(k + extra, 8, stream(k, values))
    assert task.chance(batch.layout) == pytest.approx(1 / len(possible))
    assert {row[-1] for row in map(batch.text, range(8))} <= {str(label) for label in possible}


def test_lengths_are_those_with_room():
    assert TASKS.build("planted", k=4).lengths(0, 6) == [4, 5, 6]
    assert TASKS.build("planted", k=3, placement="strided").lengths(0, 9) == [3, 6, 9]
    assert TASKS.build("planted", k=2, placement=[[0, 5], [0, 2]]).lengths(0, 5) == [3, 4, 5]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"k": 0}, "k must be at least 1, got 0"),
        ({"values": 1}, "values must be at least 2, got 1"),
        ({"k": 3, "span": 1}, "3 marked tokens need span 2 or more, got 1"),
        ({"placement": "strided", "span": 3}, "a span goes with placement uniform only"),
        ({"k": 3, "placement": [[0, 1]]}, "shapes need k = 3 offsets each"),
        ({"placement": []}, "placement needs one shape or more"),
        ({"placement": [[0, 0]]}, "a shape starts at 0 and increases"),
        ({"label": {"name": "lookup", "m": 2, "table": [0, 1]}}, "m\\^k entries, got 2"),
        ({"label": {"name": "lookup", "m": 2, "table": [1, 1, 1, 1]}}, "g\\* is constant"),
        ({"label": "parrity"}, "Did you mean 'parity'"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_does_not_fit_is_refused_when_the_task_is_built(fields, message):
    with pytest.raises(LengthwiseError, match=message):
        TASKS.build("planted", **fields)


@pytest.mark.parametrize(
    "prompt",
    ["<bos> 0 1* ?", "<bos> 0* 1* 1* ?", "<bos> 0* 1 1 0 1* ?", "<bos> 0* 7 1* ?", "0* 1* 1 ?", "<bos> 0* 1* 1"],
)
def test_prompts_that_are_no_instances(prompt):
    with pytest.raises(ValueError, match=r".+"):
        PlantedTask(k=2, span=3).answer(prompt.split())
