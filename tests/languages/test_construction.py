import itertools
from typing import Any

import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.languages.automaton import Dfa, access_words, distinguishing_word, language, minimize

from .oracles import random_dfa, random_languages, words_of


def to_automata_lib(dfa: Dfa) -> Any:
    # Imported where it is used: it takes a second, which every process that collects the tests would pay.
    from automata.fa.dfa import DFA

    return DFA(
        states=set(range(dfa.size)),
        input_symbols=set(dfa.alphabet),
        transitions={state: dict(zip(dfa.alphabet, row, strict=True)) for state, row in enumerate(dfa.delta)},
        initial_state=0,
        final_states={state for state, flag in enumerate(dfa.accepting) if flag},
    )


def test_automata_lib_builds_the_same_languages():
    from automata.fa.dfa import DFA
    from automata.fa.nfa import NFA

    for regex, alphabet, dfa in random_languages(150, stream(1, "construction")):
        other = DFA.from_nfa(NFA.from_regex(regex, input_symbols=set(alphabet)), minify=True).to_complete()
        assert to_automata_lib(dfa) == other, regex
        assert len(other.minify().states) == dfa.size


def test_minimal_automata_are_minimal_and_canonical():
    rng = stream(2, "minimize")
    for _ in range(200):
        dfa = random_dfa(int(rng.integers(1, 8)), "ab", rng)
        small = minimize(dfa)
        assert small.size == len(to_automata_lib(dfa).minify().to_complete().states)
        assert minimize(small) == small
        assert all(dfa.accepts(word) == small.accepts(word) for word in words_of("ab", 6))
        for first, second in itertools.combinations(range(small.size), 2):
            word = distinguishing_word(small, first, second)
            assert word is not None
            assert small.accepting[small.run(word, first)] != small.accepting[small.run(word, second)]
        assert {state: small.run(word) for state, word in access_words(small).items()} == {
            state: state for state in range(small.size)
        }


def test_equal_languages_are_equal_objects():
    assert language("(a|b)*") == language("(a*b*)*")
    assert minimize(language("aa*")) == minimize(language("a+"))
    assert language("a*", "ab") != language("a*", "a")


def test_quotients_and_complements():
    dfa = language("a(a|b)*b")
    quotient = minimize(dfa.right_quotient(1))
    for word in words_of("ab", 6):
        assert quotient.accepts(word) == dfa.accepts(word + "b")
        assert dfa.complement().accepts(word) != dfa.accepts(word)
    alive = dfa.live_nonmembers()
    assert alive.accepts("aa")
    assert not alive.accepts("b")
    assert not alive.accepts("ab")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: language("ab", "a"), "symbol 'b' is not in the alphabet"),
        (lambda: language("ε"), "the alphabet is empty"),
        (lambda: language("a", "aa"), "repeats a symbol"),
        (lambda: language("(a|b)*a" + "(a|b)" * 12), "more than 2000 states"),
        (lambda: language(language("a"), "ab"), "cannot be read over another alphabet"),
        (lambda: language("ab").encode("abc"), "symbol 'c' is not in the alphabet"),
    ],
)
def test_errors(call, says):
    with pytest.raises(LengthwiseError, match=says):
        call()


@pytest.mark.parametrize("row", [(0,), (0, 1, 0), (0, 2), (-1, 0)])
def test_a_row_that_does_not_fit_is_refused(row: tuple[int, ...]):
    with pytest.raises(LengthwiseError, match=r"state 1 needs one successor in 0\.\.1 per symbol, got \("):
        Dfa(("a", "b"), ((0, 1), row), (True, False))
