import numpy as np
import pytest

from crasp.reference import accepts as reference_accepts
from languages.oracles import all_arrays
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.crasp.decide import decide
from lengthwise.crasp.extraction import extract, program_of
from lengthwise.crasp.interpreter import run
from lengthwise.crasp.syntax import parse, to_text
from lengthwise.languages.automaton import language
from lengthwise.languages.named import LANGUAGES
from lengthwise.languages.sampling import sample_words

CASES = [
    ("(ab)*", 1, 1),
    ("(ab)*", 2, 3),
    ("(ab|bbaa)*", 1, 1),
    ("(baa|ab|b)*", 6, 1),
    ("(a|b)*b(a|b)(a|b)", 4, 1),
    ("(aab(ab)*b)*", 2, 1),
    ("(abab)*", 1, 4),
    ("(abab)*", 3, 4),
    ("(aab(ab)*b)*", 3, 2),
    ("b*a(ab)*b(ba)*", 2, 1),
]


@pytest.mark.parametrize("end", ["eos", "visible"])
@pytest.mark.parametrize(("regex", "window", "period"), CASES)
def test_programs_accept_the_language(regex, window, period, end):
    dfa = language(regex, "ab")
    program = extract(dfa, window, period, end)
    assert program.window <= window
    assert period % program.period == 0
    for words in all_arrays(2, 10):
        assert np.array_equal(run(program, words), dfa.accepts_batch(words))
    rng = stream(33, regex)
    long = [rng.integers(2, size=(50, 301)), sample_words(dfa, 240, 20, rng)]
    for words in long:
        assert np.array_equal(run(program, words), dfa.accepts_batch(words))


@pytest.mark.parametrize("name", [name for name, entry in LANGUAGES.items() if entry.published_ape])
def test_programs_of_the_published_languages(name):
    entry = LANGUAGES[name]
    decision = decide(entry.source, entry.alphabet)
    rng = stream(34, name)
    symbols = len(entry.alphabet)
    for end in ("eos", "visible"):
        program = program_of(decision, "ape", end)
        for words in all_arrays(symbols, {1: 12, 2: 9, 3: 6, 4: 5, 5: 4}[symbols]):
            assert np.array_equal(run(program, words), decision.dfa.accepts_batch(words))
        for length in (60, 160, 240):
            members = sample_words(decision.dfa, length, 20, rng)
            assert run(program, members).all()
            damaged = members.copy()
            damaged[:, length // 2] = (damaged[:, length // 2] + 1) % symbols
            assert np.array_equal(run(program, damaged), decision.dfa.accepts_batch(damaged))


def test_fragments_without_windows_or_periods_get_programs_without_them():
    assert program_of(decide("(ab)*"), "none", "visible").fragment == "none"
    assert program_of(decide("(aa)*"), "periodic", "visible").fragment == "periodic"
    assert program_of(decide("(aab|b)*"), "local", "eos").fragment == "local"


def test_depth_is_within_the_bound_of_the_construction():
    assert program_of(decide("(ab)*"), "none", "eos").depth == 2
    assert program_of(decide("(a(a(ab)*b)*b)*"), "none", "eos").depth == 2
    assert program_of(decide("(ab|bbaa)*"), "none", "eos").depth == 3


def test_only_a_yes_has_a_program():
    with pytest.raises(LengthwiseError, match="verdict for none under eos is no"):
        program_of(decide("(aa)*"), "none", "eos")
    with pytest.raises(LengthwiseError, match="no program with window 1 and period 3"):
        extract(language("(aa)*"), 1, 3, "eos")


def test_programs_are_printed_and_read_back():
    for regex, window, period in CASES:
        for end in ("eos", "visible"):
            program = extract(language(regex, "ab"), window, period, end)
            assert parse(to_text(program)) == program
    text = to_text(program_of(decide("(ab)*"), "none", "eos"))
    assert "balance1" in text
    assert "exit1" in text


def test_unused_operations_are_left_out():
    program = program_of(decide("(ab|bbaa)*"), "none", "eos")
    used = set(program.outputs)
    for operation in program.operations:
        used.update(operation.operands)
    assert used == set(range(len(program.operations)))
    assert program.needed() == list(range(len(program.operations)))


def test_the_obvious_interpreter_agrees():
    program = program_of(decide("(aab|b)*"), "local", "visible")
    dfa = language("(aab|b)*")
    for words in all_arrays(2, 6):
        for word in words.tolist():
            assert reference_accepts(program, dfa.decode(word)) == dfa.accepting[dfa.run(word)]
