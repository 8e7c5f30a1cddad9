import itertools

import pytest

from lengthwise.languages.communication import FOOLING_SETS
from lengthwise.languages.counter import COUNTER_LANGUAGES


def distinguishable_prefixes(answer, alphabet, length):
    """The number of words of a length that differ in ``answer(word + suffix)`` for some suffix of that length."""
    words = list(itertools.product(alphabet, repeat=length))
    return len({tuple(answer(word + suffix) for suffix in words) for word in words})


def test_majority_needs_one_class_per_count_and_copy_one_per_word():
    majority = [distinguishable_prefixes(lambda w: w.count("1") > len(w) // 2, "01", n) for n in (2, 3, 4, 5, 6)]
    assert majority == [3, 4, 5, 6, 7]
    squares = [distinguishable_prefixes(lambda w: w[: len(w) // 2] == w[len(w) // 2 :], "ab", n) for n in (2, 3, 4, 5)]
    assert squares == [4, 8, 16, 32]


def test_regular_languages_are_bounded_and_counters_linear():
    assert [distinguishable_prefixes(lambda w: w.count("1") % 2, "01", n) for n in (1, 2, 3, 4)] == [2, 2, 2, 2]
    # One class per height that a suffix can close, and one for prefixes that fell below 0.
    dyck = [distinguishable_prefixes(COUNTER_LANGUAGES["Dyck-1"].accepts, "ab", n) for n in (2, 3, 4, 5, 6)]
    assert dyck == [n // 2 + 2 for n in (2, 3, 4, 5, 6)]


@pytest.mark.parametrize("task", FOOLING_SETS)
def test_fooling_sets_fool(task):
    assert FOOLING_SETS[task].verify(5) == 32
