import numpy as np
import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.languages.automaton import language
from lengthwise.languages.counter import COUNTER_LANGUAGES
from lengthwise.languages.hard_words import boundary_words, half_pairs, pumped_words, window_pairs
from lengthwise.languages.named import LANGUAGES
from lengthwise.languages.sampling import allowed_next, lengths_with_words

LAST_RELEVANT = LANGUAGES["{0,1,2}*02*"].dfa()


@pytest.mark.parametrize("name", ["{0,1,2}*02*", "Tomita-3", "Tomita-5", "Tomita-7", "D-3"])
@pytest.mark.parametrize("window", [1, 8, 20])
def test_pairs_agree_on_the_window_and_need_different_answers(name, window):
    dfa = LANGUAGES[name].dfa()
    pairs = window_pairs(dfa, window, 60, 40, stream(13, name, window))
    assert dfa.accepts_batch(pairs.left).all()
    assert dfa.accepts_batch(pairs.right).all()
    labels = allowed_next(dfa, pairs.left), allowed_next(dfa, pairs.right)
    for row, place in enumerate(pairs.positions):
        assert np.array_equal(pairs.left[row, place - window : place], pairs.right[row, place - window : place])
        assert not np.array_equal(labels[0][row, place], labels[1][row, place])


@pytest.mark.parametrize("name", LANGUAGES)
def test_half_pairs_are_there_or_none_is_said(name):
    dfa = LANGUAGES[name].dfa()
    for length in lengths_with_words(dfa, 1, 40)[-2:]:
        words = half_pairs(dfa, length, 5, stream(14, name, length))
        if words is None:
            with pytest.raises(LengthwiseError):
                window_pairs(dfa, length // 2, length, 1, stream(14, name))
        else:
            assert words.shape == (5, length)
            assert dfa.accepts_batch(words).all()


def test_windows_that_tell_everything_are_said():
    with pytest.raises(LengthwiseError, match="determine the answer"):
        window_pairs(LANGUAGES["Tomita-4"].dfa(), 3, 50, 10, stream(1))
    with pytest.raises(LengthwiseError, match="needs a length"):
        window_pairs(LAST_RELEVANT, 10, 5, 1, stream(1))


@pytest.mark.parametrize("name", ["D-4", "Tomita-3", "(abab)*", "{a,b}*d{b,c}*", "(aa)*"])
def test_pumped_words_are_mostly_one_loop(name):
    dfa = LANGUAGES[name].dfa()
    words = pumped_words(dfa, 120, 30, stream(15, name))
    assert dfa.accepts_batch(words).all()
    for word in words.tolist():
        middle = word[20:100]
        assert any(middle[period:] == middle[:-period] for period in (1, 2, 3, 4))


def test_no_loop_fits():
    with pytest.raises(LengthwiseError, match="no loop"):
        pumped_words(language("(aa)*"), 7, 5, stream(1))


def test_boundary_words_reach_the_boundary():
    for depth in (2, 4, 12):
        words = boundary_words(LANGUAGES[f"D-{depth}"].dfa(), 60, 50, stream(17, depth))
        levels = np.cumsum(1 - 2 * words, axis=1)
        assert (levels.max(axis=1) == depth).all()
        assert (levels[:, -1] == 0).all()
        assert levels.min() >= 0
    deepest = boundary_words(COUNTER_LANGUAGES["Dyck-1"].up_to(40), 40, 5, stream(18))
    assert (np.cumsum(1 - 2 * deepest, axis=1).max(axis=1) == 20).all()
    with pytest.raises(LengthwiseError, match="no word"):
        boundary_words(language("(aa)*"), 3, 1, stream(1))
