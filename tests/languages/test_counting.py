import numpy as np
import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.languages.automaton import language
from lengthwise.languages.sampling import all_words, count_words, lengths_with_words

from .oracles import random_dfa, words_of


def test_counts_and_lists_are_those_of_brute_force():
    rng = stream(6, "counting")
    for _ in range(30):
        dfa = random_dfa(4, "ab", rng)
        for length in range(7):
            expected = [dfa.encode(word) for word in words_of("ab", length, length) if dfa.accepts(word)]
            assert count_words(dfa, length) == len(expected)
            assert [tuple(word) for word in all_words(dfa, length).tolist()] == expected


def test_counts_are_exact_at_length_1000():
    assert count_words(language("(a|b)*"), 1000) == 2**1000
    both = language("(a|b)*ab(a|b)*")
    assert count_words(both, 1000) + count_words(both.complement(), 1000) == 2**1000
    assert count_words(both.complement(), 1000) == 1001  # b*a*


def test_lengths_without_words():
    assert lengths_with_words(language("(aaa)*"), 1, 10) == [3, 6, 9]
    assert lengths_with_words(language("∅", "a"), 0, 10) == []
    assert all_words(language("(aa)*"), 3).shape == (0, 3)
    assert all_words(language("ε", "a"), 0).shape == (1, 0)


def test_lengths_with_words_are_those_of_the_counts():
    rng = stream(7, "lengths with words")
    for _ in range(60):
        dfa = random_dfa(int(rng.integers(1, 6)), "ab" if rng.random() < 0.5 else "a", rng)
        assert lengths_with_words(dfa, 0, 60) == [n for n in range(61) if count_words(dfa, n) > 0]
        assert lengths_with_words(dfa, 50, 55) == [n for n in range(50, 56) if count_words(dfa, n) > 0]


def test_too_many_words_to_list():
    with pytest.raises(LengthwiseError, match="sample them instead"):
        all_words(language("(a|b)*"), 100)
    with pytest.raises(LengthwiseError, match="at least 0"):
        count_words(language("a"), -1)
    assert np.array_equal(all_words(language("a*b"), 2), [[0, 1]])
