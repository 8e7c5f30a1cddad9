import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crasp import reference
from crasp.random_programs import programs
from lengthwise.core.errors import LengthwiseError
from lengthwise.crasp.interpreter import bounds, encode, evaluate_all, next_tokens, run
from lengthwise.crasp.program import Program, ProgramBuilder
from lengthwise.crasp.syntax import parse


@settings(max_examples=400, deadline=None)
@given(programs, st.integers(0, 12), st.integers(0, 2**32))
def test_every_value_equals_that_of_the_position_by_position_interpreter(
    program: Program, length: int, seed: int
) -> None:
    length = max(length, 1 - program.bos - program.eos)
    words = np.random.default_rng(seed).integers(len(program.alphabet), size=(3, length))
    values = evaluate_all(program, words)
    bound = bounds(program, length + program.bos + program.eos)
    for row, word in enumerate(words):
        expected = reference.evaluate(program, [program.alphabet[symbol] for symbol in word])
        for index, operation in enumerate(program.operations):
            got = values[index][row].tolist()
            assert got == expected[index], (operation, word)
            assert max(map(abs, got)) <= bound[index]
            assert (values[index].dtype == np.bool_) == operation.boolean
    if program.accept is not None:
        assert run(program, words).tolist() == [values[program.accept][row][-1] for row in range(3)]
    else:
        allowed = next_tokens(program, words)
        named = dict(program.next_token)
        for column, symbol in enumerate((*program.alphabet, "<eos>")):
            expected_column = values[named[symbol]] if symbol in named else np.zeros_like(allowed[:, :, 0])
            assert (allowed[:, :, column] == expected_column).all()


def definition_of_a_count(program: Program, word: str) -> bool:
    """Acceptance straight from the definition, with every count recounted from the start."""

    def value(index: int, i: int) -> int:
        operation = program.operations[index]
        name = type(operation).__name__
        if name == "Symbol":
            return word[i] == operation.symbol  # type: ignore[attr-defined]
        if name == "Count":
            back = operation.differences  # type: ignore[attr-defined]
            return sum(value(operation.operand, j) for j in range(i + 1) if back is None or i - j in back)  # type: ignore[attr-defined]
        if name == "Constant":
            return operation.value  # type: ignore[attr-defined]
        left, right = (value(operand, i) for operand in operation.operands)
        return left <= right if name == "Compare" else left and right

    assert program.accept is not None
    return bool(value(program.accept, len(word) - 1))


def test_counts_match_their_definition_on_all_words() -> None:
    program = parse("alphabet: a b\nbos: false\naccept := #[#[i-j in {0, 2}] Q_a <= 1] <= #[j = i-1] Q_b and #a <= #b")
    for length in range(1, 8):
        words = ["".join(word) for word in itertools.product("ab", repeat=length)]
        expected = [definition_of_a_count(program, word) for word in words]
        assert run(program, encode(program, words)).tolist() == expected


@pytest.mark.parametrize("rows", [0, 1, 7, 500])
def test_a_batch_in_pieces_is_the_batch(rows: int) -> None:
    program = parse("alphabet: a b\nd := #a - #b\naccept := #[d < 0] <= 3 and #[j = i-2] Q_a = 1")
    words = np.random.default_rng(rows).integers(2, size=(rows, 700))
    accepted = run(program, words)
    assert accepted.shape == (rows,)
    for row in range(0, rows, 97):
        assert accepted[row] == reference.accepts(program, ["ab"[symbol] for symbol in words[row]])


def test_long_words_do_not_overflow() -> None:
    build = ProgramBuilder("ab")
    total = build.count(build.symbol("a"))
    program = build.accept(build.compare(build.linear([(10**15, total)]), ">", build.constant(10**20 - 1)))
    n = 100_000
    words = np.zeros((2, n), dtype=np.int8)
    words[1, 17] = 1
    assert run(program, words).tolist() == [True, False]
    count = evaluate_all(program, words)[total]
    assert count[0, -1] == n
    assert count.dtype == np.int32


def test_numbers_beyond_64_bits_are_exact() -> None:
    text = "alphabet: a\nx := 4000000000 * #a\ny := 4000000000 * x\nz := 4000000000 * y"
    program = parse(f"{text}\naccept := z = {4000000000**3 * 5}")
    assert run(program, np.zeros((1, 5), dtype=int)).tolist() == [True]
    assert run(program, np.zeros((1, 6), dtype=int)).tolist() == [False]


def test_the_empty_word_needs_a_mark() -> None:
    assert run(parse("alphabet: a\naccept := #a = 0"), np.zeros((1, 0), dtype=int)).tolist() == [True]
    with pytest.raises(LengthwiseError, match="length >= 1; declare bos: true"):
        run(parse("alphabet: a\nbos: false\naccept := #a = 0"), np.zeros((1, 0), dtype=int))


def test_an_end_symbol_is_one_more_position() -> None:
    program = parse("alphabet: a b\nbos: false\neos: true\naccept := EOS and exists[j = i-1] Q_b")
    assert run(program, encode(program, ["ab", "ba"])).tolist() == [True, False]


def test_mistakes_are_named() -> None:
    accepting, next_token = parse("alphabet: a b\naccept := #a = 0"), parse("alphabet: a b\nNEXT a := true")
    with pytest.raises(LengthwiseError, match="next-token program"):
        run(next_token, np.zeros((1, 1), dtype=int))
    with pytest.raises(LengthwiseError, match="accepts or rejects"):
        next_tokens(accepting, np.zeros((1, 1), dtype=int))
    with pytest.raises(LengthwiseError, match="ids run from 0 to 1, got 0 to 2"):
        run(accepting, np.array([[0, 2]]))
    with pytest.raises(LengthwiseError, match="'c' is not in the program's alphabet"):
        encode(accepting, ["ac"])
    with pytest.raises(LengthwiseError, match="have one length"):
        encode(accepting, ["a", "aa"])


@pytest.mark.parametrize("modulus", [1, 2, 5, 6, 2**63, 10**40])
@pytest.mark.parametrize("residue", [0, 1, 4, 5, 2**63, 10**39])
def test_a_period_of_any_size(modulus: int, residue: int) -> None:
    if residue < modulus:
        program = parse(f"alphabet: a b\naccept := i mod {modulus} = {residue}")
        for length in range(1, 8):
            assert bool(run(program, encode(program, ["a" * length]))[0]) == reference.accepts(program, "a" * length)
