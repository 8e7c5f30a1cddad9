import numpy as np
import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.languages.automaton import language
from lengthwise.languages.named import LANGUAGES
from lengthwise.languages.sampling import UniformSampler, count_words, sample_words

from .chi_square import p_value


@pytest.mark.parametrize("bits", [1, 2, 5, 62])
@pytest.mark.parametrize(("regex", "length"), [("(1|01|001)*(ε|0|00)", 6), ("{a,b}*d{b,c}*", 4), ("(a(ab)*b)*", 10)])
def test_words_are_uniform_at_every_precision_of_the_first_comparison(regex, length, bits):
    dfa = language(regex)
    words = UniformSampler(dfa, bits).sample(length, 20_000, stream(7, "uniform", regex, bits))
    assert dfa.accepts_batch(words).all()
    assert p_value(words, count_words(dfa, length)) > 1e-3


def test_the_test_notices_words_that_are_not_uniform():
    dfa = language("(1|01|001)*(ε|0|00)")
    rng = stream(8, "naive")
    naive = rng.integers(2, size=(60_000, 6))
    naive = naive[dfa.accepts_batch(naive)]
    assert p_value(naive, count_words(dfa, 6)) > 1e-3  # rejection is uniform
    greedy = naive[(naive[:, 0] == 0) | (rng.random(len(naive)) < 0.8)]
    assert p_value(greedy, count_words(dfa, 6)) < 1e-3


@pytest.mark.parametrize("name", LANGUAGES)
def test_members_and_non_members_of_long_lengths(name):
    dfa = LANGUAGES[name].dfa()
    rng = stream(9, name)
    for length in (100, 1000):
        assert dfa.accepts_batch(sample_words(dfa, length, 20, rng)).all()
        if count_words(dfa.complement(), length):
            assert not dfa.accepts_batch(sample_words(dfa.complement(), length, 20, rng)).any()
        alive = dfa.live_nonmembers()
        if count_words(alive, length):
            words = sample_words(alive, length, 20, rng)
            assert not dfa.accepts_batch(words).any()
            assert np.array(dfa.live)[dfa.states_along(words)[:, -1]].all()


def test_streams_decide_the_words():
    dfa = language("(a|b)*")
    assert np.array_equal(sample_words(dfa, 9, 5, stream(1, "x")), sample_words(dfa, 9, 5, stream(1, "x")))
    assert not np.array_equal(sample_words(dfa, 9, 5, stream(1, "x")), sample_words(dfa, 9, 5, stream(2, "x")))


def test_lengths_without_words_are_refused():
    with pytest.raises(LengthwiseError, match="no word of length 3"):
        sample_words(language("(aa)*"), 3, 1, stream(1))
    assert sample_words(language("(aa)*"), 0, 2, stream(1)).shape == (2, 0)
