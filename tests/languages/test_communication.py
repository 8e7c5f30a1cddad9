import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.languages.communication import (
    FOOLING_SETS,
    all_words,
    distinguishable_prefixes,
    fit_growth,
    growth_of,
)
from lengthwise.languages.counter_languages import COUNTER_LANGUAGES


def test_majority_needs_one_class_per_count_and_copy_one_per_word():
    majority = growth_of(lambda w: w.count("1") > len(w) // 2, "01", [2, 3, 4, 5, 6])
    assert majority.classes == (3, 4, 5, 6, 7)
    assert majority.kind == "polynomial"
    squares = growth_of(lambda w: w[: len(w) // 2] == w[len(w) // 2 :], "ab", [2, 3, 4, 5, 6])
    assert squares.classes == (4, 8, 16, 32, 64)
    assert (squares.kind, round(squares.rate, 6)) == ("exponential", 2.0)
    assert "evidence, not a proof" in str(squares)


def test_regular_languages_are_bounded_and_counters_polynomial():
    parity = growth_of(lambda w: w.count("1") % 2, "01", [1, 2, 3, 4])
    assert (parity.kind, parity.rate) == ("bounded", 2.0)
    dyck = growth_of(COUNTER_LANGUAGES["Dyck-1"].accepts, "ab", [2, 3, 4, 5, 6, 7])
    assert dyck.kind == "polynomial"


@pytest.mark.parametrize("task", FOOLING_SETS)
def test_fooling_sets_fool(task):
    assert FOOLING_SETS[task].verify(5) == 32


def test_errors():
    with pytest.raises(LengthwiseError, match="at least three lengths"):
        fit_growth([1, 2], [1, 2])
    with pytest.raises(LengthwiseError, match="questions"):
        distinguishable_prefixes(lambda w: 0, all_words("ab", 11), all_words("ab", 11))
