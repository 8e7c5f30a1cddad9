from itertools import combinations

import numpy as np
import pytest
import toys
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.sparsity.dependence import estimate_dependencies, smallest_hitting_set


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8), st.integers(0, 10), st.integers(0, 9999))
def test_hitting_set_is_smallest(elements, rows, seed):
    rng = np.random.default_rng(seed)
    family = rng.random((rows, elements)) < 0.4
    family = family[family.any(axis=1)]
    found = smallest_hitting_set(family)
    assert family[:, list(found)].any(axis=1).all()
    smaller = (c for size in range(len(found)) for c in combinations(range(elements), size))
    assert not any(family[:, list(c)].any(axis=1).all() for c in smaller)


def test_hitting_set_without_budget_still_meets_every_row():
    family = np.random.default_rng(0).random((60, 30)) < 0.15
    family = family[family.any(axis=1)]
    assert family[:, list(smallest_hitting_set(family, budget=1))].any(axis=1).all()
    with pytest.raises(ValueError, match="empty"):
        smallest_hitting_set(np.zeros((1, 3), dtype=bool))


@pytest.mark.parametrize("name", toys.TASKS)
@pytest.mark.parametrize("length", [4, 5, 9])
def test_finds_the_parents_of_every_token(name, length):
    found = toys.dependencies(name, length)
    assert not found.unresolved
    for parents, expected in zip(found.parents, toys.expected_parents(name, length), strict=True):
        if expected is not None:
            assert set(parents) == expected
    assert all(found.varies[p] for parents in found.parents for p in parents)


def test_a_dense_function_depends_on_everything():
    found = estimate_dependencies(toys.parity, toys.sample_bits, 7, stream(0))
    assert found.parents == (tuple(range(7)),)
    assert found.sparsity == 7
    assert found.edges().tolist() == [[8, p] for p in range(7)]


@pytest.mark.parametrize("seed", range(3))
def test_random_sparse_functions(seed):
    """Each answer token is a random function, depending on all its arguments, of two earlier tokens."""
    rng = np.random.default_rng(seed)
    n = 6
    parents = [sorted(rng.choice(n + j, size=2, replace=False).tolist()) for j in range(4)]

    def oracle(prompt):
        values = [int(t) for t in prompt]
        for a, b in parents:
            values.append((values[a] + 2 * values[b]) % 5)
        return [str(v) for v in values[n:]]

    found = estimate_dependencies(
        oracle, lambda length, g: [str(v) for v in g.integers(5, size=length)], n, stream(seed, "random")
    )
    for j, expected in enumerate(parents):
        assert len(found.parents[j]) <= 2
        # Equally small sets may determine the same token (linear relations), but the two named ones always do.
        if all(p < n for p in expected):
            assert len(found.parents[j]) == 2


def test_prompts_that_the_task_refuses_are_passed_over():
    def distinct(prompt):
        if len(set(prompt)) < len(prompt):
            raise ValueError("letters repeat")
        return [prompt[0]]

    def sampler(length, rng):
        return [*rng.permutation(list("abcdefgh"))[:length]]

    found = estimate_dependencies(distinct, sampler, 3, stream(0))
    assert found.parents == ((0,),)


def test_useless_oracles_are_named():
    def never(prompt):
        raise ValueError("no")

    with pytest.raises(LengthwiseError, match="0 of 200 prompts of length 3"):
        estimate_dependencies(never, toys.sample_bits, 3, stream(0))


def test_same_stream_same_result():
    again = estimate_dependencies(*toys.TASKS["addition"], 4, stream(0, "addition", 4))
    assert again == toys.dependencies("addition", 4)
