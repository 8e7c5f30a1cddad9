"""The compiler: compiled programs equal the interpreter, everywhere."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from crasp.reference import evaluate
from lengthwise.core.errors import LengthwiseError
from lengthwise.crasp import library
from lengthwise.crasp.interpreter import evaluate_all
from lengthwise.crasp.program import Operation, Program, ProgramBuilder
from lengthwise.models.circuit import Circuit
from lengthwise.models.compile import (
    CompilationCheck,
    _Compiler,
    compare,
    compile_program,
    encode_for,
    random_words,
    short_words,
    verify,
)

SMALL = [name for name in library.names() if len(library.get(name).alphabet) <= 5]
KINDS = ("not", "and", "or", "periodic", "compare", "count", "local", "linear", "conditional", "min", "max")


@st.composite
def programs(draw, operations=12):
    """Programs that use every kind of operation."""
    build = ProgramBuilder("ab", bos=draw(st.booleans()), eos=False)
    bits = [build.symbol("a"), build.symbol("b"), build.top()]
    counts = [build.constant(draw(st.integers(-3, 3))), build.count(bits[0])]
    for _ in range(draw(st.integers(1, operations))):
        bit, other = draw(st.sampled_from(bits)), draw(st.sampled_from(bits))
        left, right = draw(st.sampled_from(counts)), draw(st.sampled_from(counts))
        match draw(st.sampled_from(KINDS)):
            case "not":
                bits.append(build.negation(bit))
            case "and":
                bits.append(build.all_of([bit, other]))
            case "or":
                bits.append(build.any_of([bit, other]))
            case "periodic":
                modulus = draw(st.integers(1, 4))
                bits.append(build.periodic(draw(st.integers(0, 3)), modulus))
            case "compare":
                bits.append(build.compare(left, draw(st.sampled_from(["<=", "<", "=", ">=", ">"])), right))
            case "count":
                counts.append(build.count(bit))
            case "local":
                differences = draw(st.sets(st.integers(0, 5), min_size=1, max_size=3))
                counts.append(build.count(bit, differences))
            case "linear":
                factors = draw(st.tuples(st.integers(-3, 3), st.integers(-3, 3)))
                counts.append(build.linear([(factors[0], left), (factors[1], right)], draw(st.integers(-4, 4))))
            case "conditional":
                counts.append(build.conditional(bit, left, right))
            case "min":
                counts.append(build.minimum(left, right))
            case "max":
                counts.append(build.maximum(left, right))
    last = build.compare(counts[-1], draw(st.sampled_from(["<=", "=", ">"])), draw(st.sampled_from(counts)))
    return build.next_token({"a": bits[-1], "b": last, "<eos>": draw(st.sampled_from(bits))})


def agrees_everywhere(program: Program, offset: int) -> None:
    model = compile_program(program).required()
    total = CompilationCheck(0, 0, 0)
    for words in short_words(program, 5):
        total += compare(program, model, words, offset)
    total += compare(program, model, random_words(program, 60, 10), offset)
    assert total.agrees, (program, total.mismatches)


@settings(max_examples=40, deadline=None)
@given(program=programs(), offset=st.integers(0, 5))
def test_random_programs_agree_with_the_interpreter(program, offset):
    agrees_everywhere(program, offset)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(program=programs(operations=20), offset=st.integers(0, 30))
def test_a_thousand_random_programs_agree_with_the_interpreter(program, offset):
    agrees_everywhere(program, offset)


@settings(max_examples=25, deadline=None)
@given(program=programs(), word=st.lists(st.sampled_from("ab"), min_size=1, max_size=14))
def test_agreement_with_the_independent_reference(program, word):
    """Not through the fast interpreter: word by word, position by position."""
    model = compile_program(program).required()
    ids = encode_for(program, model, np.array([["ab".index(symbol) for symbol in word]]))
    got = (model(ids).logits[0, 0 if program.bos else 1 :] > 0).T.tolist()
    table = evaluate(program, word)
    assert got == [table[index] for index in program.outputs]


@pytest.mark.parametrize("name", library.names())
def test_every_library_program_compiles_and_agrees(name):
    program = library.get(name)
    model = compile_program(program).required()
    found = verify(program, model, words=8, lengths=(40, 100), longest_exhaustive=6 if name in SMALL else 1)
    assert found.agrees, found.mismatches
    assert found.values > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", library.names())
def test_every_library_program_agrees_to_length_1000(name):
    program = library.get(name)
    found = verify(program, compile_program(program).required())
    assert found.agrees, found.mismatches
    assert found.words >= 2000


@pytest.mark.parametrize("name", ["D-2", "Tomita-7", "(abab)*", "unique_copy", "bin_majority_interleave"])
def test_every_bit_inside_the_network_is_exactly_the_operation(name):
    """Not the outputs only: each Boolean is 0.0 or 1.0 in the residual stream, each count is i times its channel."""
    program = library.get(name)
    model, circuit = compile_program(program).required(), Circuit(program)
    coordinates = _Compiler(circuit).coordinates
    words = random_words(program, 50, 6, seed=1)
    hidden = model.hidden(encode_for(program, model, words), torch.zeros(6, dtype=torch.int64))
    values = evaluate_all(program, words)
    places = torch.arange(1, hidden.shape[1] + 1, dtype=torch.float64)
    compared = 0
    for index in program.needed():
        form = circuit.forms[index]
        computed = torch.full(hidden.shape[:2], float(form.constant), dtype=torch.float64)
        for weight, node in form.terms:
            channel = hidden[..., coordinates[node]]
            if circuit.nodes[node].bit:
                assert bool(((channel == 0) | (channel == 1)).all())
            computed += weight * (channel if circuit.nodes[node].bit else channel * places)
        expected = torch.from_numpy(np.ascontiguousarray(values[index])).to(torch.float64)
        torch.testing.assert_close(computed, expected, rtol=0, atol=1e-9)
        compared += 1
    assert compared > len(program.outputs)


def test_it_stays_exact_at_a_length_of_a_hundred_thousand():
    program = library.get("bin_majority")
    model = compile_program(program).required()
    length = 100_000
    words = np.arange(length)[None, :] % 2  # every position is next to the boundary
    found = compare(program, model, words)
    assert found.agrees
    assert found.values == length + 1


def test_rounding_to_16_bits_keeps_a_program_with_windows_right():
    program = library.get("Tomita-4")
    model = compile_program(program, precision=16).required()
    assert compare(program, model, random_words(program, 200, 20)).agrees


def test_periods_are_relative_to_bos_at_every_offset():
    program = library.get("(abab)*")
    model = compile_program(program).required()
    for offset in range(9):
        assert compare(program, model, random_words(program, 30, 20), offset).agrees


def test_without_bos_it_is_put_in_front_and_counts_do_not_see_it():
    build = ProgramBuilder("ab", bos=False)
    program = build.accept(build.compare(build.count(build.negation(build.symbol("b"))), "=", build.constant(3)))
    compilation = compile_program(program)
    assert compilation.added_bos
    assert verify(program, compilation.required(), words=20, lengths=(30,)).agrees


def test_the_report_counts_what_was_built():
    program = library.get("D-2")
    compilation = compile_program(program)
    model = compilation.required()
    assert sum(cost.units for cost in compilation.operations) == sum(len(layer.mlp.bias) for layer in model.layers)
    assert compilation.layers == len(model.layers) == 4
    assert compilation.attention_layers == 2 == program.depth
    assert [cost.index for cost in compilation.operations] == list(range(len(program.operations)))


class Strange(Operation):
    """An operation that nobody knows."""

    boolean = True


def test_what_cannot_be_compiled_comes_back_as_data():
    program = Program(("a",), (Strange(),), accept=0)
    compilation = compile_program(program)
    assert compilation.model is None
    assert (compilation.unsupported[0].index, type(compilation.unsupported[0].operation)) == (0, Strange)
    with pytest.raises(LengthwiseError, match=r"cannot compile operation 0 \(Strange\)"):
        compilation.required()


def test_numbers_too_large_for_float64_are_not_compiled():
    build = ProgramBuilder("ab")
    big = build.linear([(10**12, build.count(build.symbol("a")))])
    compilation = compile_program(build.accept(build.compare(big, "<=", build.count(build.symbol("b")))))
    assert compilation.model is None
    assert "no longer exact" in compilation.unsupported[0].reason


def test_a_mismatch_is_found_and_named():
    """The check of the checker: a network with one wrong weight."""
    program = library.get("bin_majority")
    model = compile_program(program).required()
    model.layers[0].mlp.weight_in.mul_(-1)
    found = verify(program, model, words=5, lengths=(10,), longest_exhaustive=2)
    assert not found.agrees
    assert found.mismatches[0].output == "accept"
