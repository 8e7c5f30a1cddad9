import itertools

import numpy as np
import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.languages.counter import COUNTER_LANGUAGES, BooleanExpressions, EqualRuns
from lengthwise.languages.sampling import count_words

from .chi_square import p_value


def balanced(word, opening, closing):
    level = 0
    for symbol in word:
        level += (symbol == opening) - (symbol == closing)
        if level < 0:
            return False
    return level == 0


def is_expression(word):
    """Prefix notation, by recursive descent."""
    arity = {"0": 0, "1": 0, "~": 1, "+": 2, ">": 3}

    def end(place):
        if place is None or place >= len(word):
            return None
        place, parts = place + 1, arity[word[place]]
        for _ in range(parts):
            place = end(place)
        return place

    return len(word) > 0 and end(0) == len(word)


ORACLES = {
    "Dyck-1": lambda w: balanced(w, "a", "b"),
    "a^nb^n": lambda w: w == "a" * (len(w) // 2) + "b" * (len(w) // 2),
    "a^nb^nc^n": lambda w: w == "".join(s * (len(w) // 3) for s in "abc"),
    "Shuffle-2": lambda w: balanced(w, "(", ")") and balanced(w, "[", "]"),
    "Boolean-3": is_expression,
}


@pytest.mark.parametrize("name", COUNTER_LANGUAGES)
def test_words_counts_and_labels_are_those_of_the_oracle(name):
    language, oracle = COUNTER_LANGUAGES[name], ORACLES[name]
    longest = {2: 10, 3: 7, 4: 6, 5: 5}[len(language.alphabet)]
    members: set[str] = set()
    for length in range(longest + 1):
        words = ["".join(word) for word in itertools.product(language.alphabet, repeat=length)]
        members |= {word for word in words if oracle(word)}
        assert all(language.accepts(word) == oracle(word) for word in words)
        assert language.count(length) == sum(map(oracle, words))
        bounded = language.up_to(longest)
        assert count_words(bounded, length) == sum(map(oracle, words))
    half = longest // 3  # completions of such prefixes are short enough to be among the members
    words = np.array(list(itertools.product(range(len(language.alphabet)), repeat=half)))
    labels = language.allowed_next(words)
    for word, row in zip(words.tolist(), labels, strict=True):
        text = "".join(language.alphabet[symbol] for symbol in word)
        for place in range(half):
            assert row[place, -1] == (text[:place] in members)
            for number, symbol in enumerate(language.alphabet):
                assert row[place, number] == any(member.startswith(text[:place] + symbol) for member in members)


@pytest.mark.parametrize(("name", "length"), [("Dyck-1", 8), ("Shuffle-2", 6), ("Boolean-3", 4), ("Shuffle-2", 4)])
def test_words_are_uniform(name, length):
    language = COUNTER_LANGUAGES[name]
    words = language.sample(length, 20_000, stream(11, name, length))
    assert p_value(words, language.count(length)) > 1e-3


@pytest.mark.parametrize("name", COUNTER_LANGUAGES)
def test_long_words(name):
    language = COUNTER_LANGUAGES[name]
    length = language.lengths(1, 150)[-1]
    for word in language.sample(length, 20, stream(12, name)).tolist():
        assert language.accepts(tuple(language.alphabet[symbol] for symbol in word))
    assert length >= 149


def test_lengths_and_errors():
    assert COUNTER_LANGUAGES["a^nb^nc^n"].lengths(1, 10) == [3, 6, 9]
    assert COUNTER_LANGUAGES["Dyck-1"].lengths(1, 7) == [2, 4, 6]
    assert COUNTER_LANGUAGES["Boolean-3"].lengths(0, 4) == [1, 2, 3, 4]
    with pytest.raises(LengthwiseError, match="no word of length 3"):
        COUNTER_LANGUAGES["Shuffle-2"].sample(3, 1, stream(1))
    with pytest.raises(LengthwiseError, match="no word of length 4"):
        COUNTER_LANGUAGES["a^nb^nc^n"].sample(4, 1, stream(1))
    with pytest.raises(LengthwiseError, match="two or more letters"):
        EqualRuns("a")
    with pytest.raises(LengthwiseError, match="arity"):
        BooleanExpressions(6)
    with pytest.raises(LengthwiseError, match="not in the alphabet"):
        COUNTER_LANGUAGES["Dyck-1"].accepts("ac")
