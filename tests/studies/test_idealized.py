"""The idealized learner: agreement and minimality by brute force, what settles and what does not."""

import itertools

import numpy as np
import pytest
from idealized import (
    TARGETS,
    HypothesisClass,
    LearnedTransformer,
    _settled_from,
    copy_says_a,
    learn,
    measure,
    memorizer,
    nested_twice,
    renamed,
)

from lengthwise.crasp import interpreter, library
from lengthwise.crasp.interpreter import run

BY_NAME = {target.name: target for target in TARGETS}


@pytest.fixture(scope="module")
def small():
    """All programs of size 1 and 2 and the library's, on all words up to length 6."""
    return HypothesisClass(2, length=6, max_size=2, periods=(2,), distances=(1,))


def test_members_have_the_values_of_their_programs(small):
    for member in range(0, len(small), 17):
        program, values = small.program(member), small.values(member)
        for node in range(0, len(small.tree), 5):
            word = np.array([small.tree.words[node]], dtype=np.int64).reshape(1, -1)
            assert values[node] == run(program, word)[0]


@pytest.mark.parametrize("name", ["binary majority", "(ab)*", "D_2", "contains ab", "parity"])
def test_each_choice_agrees_up_to_half_and_is_minimal(small, name):
    target = BY_NAME[name]
    found = learn(target, small, long_words=9, long_length=20)
    words = [word for k in range(7) for word in itertools.product(range(2), repeat=k)]
    answers = [target.label(tuple(target.alphabet[symbol] for symbol in word)) for word in words]
    for choice in found.choices:
        known = [index for index, word in enumerate(words) if len(word) <= choice.n // 2]
        agreeing = []
        for member in range(len(small)):
            values = small.values(member)
            if all(values[small.tree.node[words[index]]] == answers[index] for index in known):
                agreeing.append(small.regularizer(member))
        assert choice.consistent == len(agreeing)
        if agreeing:
            assert choice.regularizer <= min(agreeing) + 1 / choice.n
        if choice.program is None:
            assert all(choice.regularizer < value for value in agreeing)


@pytest.mark.parametrize("name", ["binary majority", "(ab)*", "contains ab", "D_2", "parity"])
def test_what_the_theory_says_of_each_target(name):
    target = BY_NAME[name]
    found = learn(target, HypothesisClass(2, length=8, max_size=2, periods=(2,), distances=(1,)), long_words=30)
    assert found.as_expected
    values = [choice.regularizer for choice in found.choices]
    if target.settles:
        assert found.long_errors == 0
        assert found.long_words > 0
        assert found.settled_from is not None
        settled = [choice for choice in found.choices if choice.n >= found.settled_from]
        assert all(choice.errors == 0 and choice.program is not None for choice in settled)
        assert len({choice.program for choice in settled}) == 1
    else:
        assert values[-1] > values[len(values) // 2] > values[0]
        assert found.choices[-1].errors > 0


def test_even_length_needs_the_period():
    target = BY_NAME["(aa)*"]
    assert learn(target, HypothesisClass(1, length=16, max_size=3, periods=(2,))).settled_from is not None
    # Without periods the library's program for (aa)* is over two letters, so this class has none.
    assert learn(target, HypothesisClass(1, length=16, max_size=3)).settled_from is None


def test_copying_never_settles():
    found = learn(BY_NAME["copy with repeats"], HypothesisClass(3, length=6, max_size=2, periods=(2,), distances=(1,)))
    assert found.settled_from is None
    assert found.as_expected
    assert found.choices[-1].regularizer > 2 * found.choices[2].regularizer


def test_a_memorizer_knows_its_words_and_grows():
    answers = {word: sum(word) % 2 == 0 for k in range(4) for word in itertools.product(range(2), repeat=k)}
    program = memorizer("ab", answers)
    for word, answer in answers.items():
        assert interpreter.run(program, np.array([word], dtype=np.int64).reshape(1, -1))[0] == answer
    shorter = {word: answer for word, answer in answers.items() if len(word) <= 2}
    assert measure(memorizer("ab", shorter), 8) < measure(program, 8)
    assert interpreter.run(memorizer("ab", {}), np.array([[0]])).tolist() == [False]


def test_settled_from_looks_back_from_the_end():
    def choice(n: int, errors: int, program: str | None = "p"):
        return LearnedTransformer(n, program, 1.0, 1, errors, 10)

    assert _settled_from([choice(2, 1), choice(3, 0), choice(4, 0)]) == 3
    assert _settled_from([choice(2, 0), choice(3, 1), choice(4, 0)]) == 4
    assert _settled_from([choice(2, 0), choice(3, 0, None)]) is None
    assert _settled_from([choice(2, 0), choice(3, 1)]) is None


def test_renaming_keeps_what_a_program_does():
    program = library.get("D-2")
    swapped = renamed(program, ("b", "a"))
    assert swapped.alphabet == ("a", "b")
    words = np.array(list(itertools.product(range(2), repeat=6)))
    assert run(swapped, words).tolist() == run(program, 1 - words).tolist()


def test_the_targets_are_what_they_say():
    assert [copy_says_a(tuple(word)) for word in ("ab#", "ab#a", "ab#ab", "ab", "#a", "ab#b")] == [
        True, False, False, None, None, None,
    ]  # fmt: skip
    words = ("".join(word) for k in range(7) for word in itertools.product("ab", repeat=k))
    for word in words:
        depths = list(itertools.accumulate(1 if symbol == "a" else -1 for symbol in word))
        balanced = all(0 <= depth <= 2 for depth in depths) and (not depths or depths[-1] == 0)
        assert nested_twice(tuple(word)) == balanced
