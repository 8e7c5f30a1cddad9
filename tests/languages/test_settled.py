"""How many first symbols settle a word, against all words of a length."""

from __future__ import annotations

import pytest

from lengthwise.languages.automaton import language
from lengthwise.languages.sampling import all_words, allowed_next
from lengthwise.languages.settled import MOST, settling_symbols

EXPRESSIONS = [
    "(a|b)*ab(a|b)*",
    "(ab|ba)*",
    "(a|b)*a",
    "(aa)*",
    "a(a|b)*",
    "a*b*",
    "c*(a(a|b|c)*|b)",
    "(a|b|c)*a(a|b)*",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("length", [0, 3, 6])
@pytest.mark.parametrize("most", [2, 6])
def test_the_count_is_that_of_all_words(expression: str, length: int, most: int) -> None:
    dfa = language(expression)
    words = all_words(dfa, length)
    found = None
    for n in range(min(most, length) + 1):
        # Words that begin alike are settled if all that is right behind their first n symbols is the same.
        alike: dict[tuple[int, ...], set[bytes]] = {}
        for longer in range(length, length + 5):
            listed = all_words(dfa, longer)
            for word, says in zip(listed.tolist(), allowed_next(dfa, listed), strict=True):
                alike.setdefault(tuple(word[:n]), set()).update(each.tobytes() for each in says[n:])
        share = [len(alike[tuple(word[:n])]) == 1 for word in words.tolist()]
        if share and all(share):
            found = None
            break
        if share and found is None and 100 * sum(share) >= MOST * len(share):
            found = n
    assert settling_symbols(dfa, length, most) == found
