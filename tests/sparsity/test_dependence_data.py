import numpy as np
import pytest
import toys

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.sparsity.coupling import NoCouplingError, check_coupling, propose_coupling
from lengthwise.sparsity.dependence import _information, dependencies_from_data, estimate_dependencies


def examples(oracle, sampler, length, number, seed=0):
    rng = stream(seed, "data", length)
    prompts = [sampler(length, rng) for _ in range(number)]
    return [[*p, *oracle(p)] for p in prompts], len(prompts[0]), rng


def estimate(name, length, seed=0):
    oracle, sampler = toys.TASKS[name]
    rows, prompt, rng = examples(oracle, sampler, length, 20_000 if name == "addition" else 2000, seed)
    return dependencies_from_data(rows, prompt, length, rng)


@pytest.mark.parametrize(
    ("name", "length"), [("copy", 9), ("reverse", 9), ("parity with scratchpad", 9), ("addition", 5)]
)
def test_finds_the_parents_of_every_token(name, length):
    found = estimate(name, length)
    assert not found.unresolved
    for parents, expected in zip(found.parents, toys.expected_parents(name, length), strict=True):
        if expected is not None:
            assert set(parents) == expected


@pytest.mark.parametrize("name", ["copy", "reverse", "parity with scratchpad"])
def test_coupling_from_data_holds_at_longer_lengths_by_queries(name):
    rule = propose_coupling([estimate(name, n) for n in (4, 5, 6)])
    oracle, sampler = toys.TASKS[name]
    known = {n: estimate_dependencies(oracle, sampler, n, stream(0, n)) for n in (5, 12)}
    assert check_coupling(rule, known, lengths=(5, 12)).holds


@pytest.mark.slow
def test_coupling_of_addition_from_data():
    rule = propose_coupling([estimate("addition", n) for n in (4, 5, 6)])
    oracle, sampler = toys.TASKS["addition"]
    known = {n: estimate_dependencies(oracle, sampler, n, stream(0, n)) for n in (5, 20)}
    assert check_coupling(rule, known, lengths=(5, 20)).holds


def test_what_shows_in_three_tokens_only_is_reported_as_unresolved():
    rows, prompt, rng = examples(toys.parity, toys.sample_bits, 3, 2000)
    found = dependencies_from_data(rows, prompt, 3, rng)
    assert found.unresolved == (0,)
    with pytest.raises(NoCouplingError, match="answer token 1"):
        propose_coupling([found, found])


def test_too_few_examples_are_not_enough_to_be_sure():
    rows, prompt, rng = examples(*toys.TASKS["addition"], 5, 200)
    assert dependencies_from_data(rows, prompt, 5, rng).unresolved
    with pytest.raises(LengthwiseError, match="50 examples or more, got 20"):
        dependencies_from_data(rows[:20], prompt, 5, rng)


def test_information_of_a_known_channel():
    rng = np.random.default_rng(0)
    x, z = rng.integers(2, size=(2, 200_000))
    y, none = x ^ z, np.zeros(200_000, dtype=np.int64)
    assert _information(y, x, none) == pytest.approx(0, abs=1e-4)
    assert _information(y, x, z) == pytest.approx(np.log(2), abs=1e-4)
