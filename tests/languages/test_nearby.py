"""Words whose labels hang on near symbols alone, against all prefixes that have the same window."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from lengthwise.languages.automaton import Dfa, language
from lengthwise.languages.nearby import decided_nearby, some_are_not
from lengthwise.languages.sampling import all_words
from lengthwise.tasks.language import Language

EXPRESSIONS = [
    "(a|b)*abb(a|b)*", "(ab|ba)*", "(a|b)*a", "(aa)*", "(a|b|c)*a(b|c)*", "a(a|b)*", "a*b*", "a*(c(a|b)*|db*)",
    "a*c|bb*d",
]  # fmt: skip


def by_definition(dfa: Dfa, label: np.ndarray, words: np.ndarray, n: int) -> list[bool]:
    def said(states: set[int]) -> set[int]:
        return {int(label[q]) for q in states} - {-1}

    def behind(q: int) -> set[int]:
        found = {q}
        while more := {t for p in found for t in dfa.delta[p]} - found:
            found |= more
        return found

    known = [q for q in range(dfa.size) if label[q] >= 0]
    right = []
    for word in words.tolist():
        windows = (word[t - n : t] for t in range(n, len(word) + 1))
        by_last = all(len(said({dfa.run(window, q) for q in known})) == 1 for window in windows)
        right.append(by_last or len(said(behind(dfa.run(word[:n])))) == 1)
    return right


@pytest.mark.parametrize("ask", ["next", "member", "state"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_words_are_decided_nearby_as_defined(expression: str, ask: str) -> None:
    task = Language(language=expression, ask=ask)  # type: ignore[arg-type]
    dfa = language(expression)
    label, harder = task.right_by_state(dfa), {1: False, 2: False, 3: False}
    for length, n in product(range(3, 9), harder):
        words = (
            all_words(dfa, length)
            if ask == "next"
            else all_words(Dfa(dfa.alphabet, dfa.delta, (True,) * dfa.size), length)
        )
        if len(words):
            found = decided_nearby(dfa, label, words, n)
            assert found.tolist() == by_definition(dfa, label, words, n)
            harder[n] |= not found.all()
    if ask == "next":
        assert {n: some_are_not(dfa, label, n) for n in harder} == harder
