"""Counts and lists the words of a language by length, exactly, in big integers."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from lengthwise.core.errors import require
from lengthwise.languages.automata.automaton import Dfa

MAX_LISTED = 2_000_000  # symbols of an enumeration held in memory at once


class WordCounts:
    """``of(r)[q]`` is the number of words of length r that lead from state q to acceptance."""

    def __init__(self, dfa: Dfa) -> None:
        self.dfa = dfa
        self._rows: list[list[int]] = [[int(flag) for flag in dfa.accepting]]
        self._possible: list[tuple[bool, ...]] = [dfa.accepting]
        self._known = {dfa.accepting: 0}
        self._cycle = 0

    def of(self, remaining: int) -> list[int]:
        """Number of accepted completions of length ``remaining``, per state."""
        while len(self._rows) <= remaining:
            last = self._rows[-1]
            self._rows.append([sum([last[target] for target in row]) for row in self.dfa.delta])
        return self._rows[remaining]

    def words(self, length: int) -> int:
        """Number of words of the language of that length."""
        require(length >= 0, f"a word has at least 0 symbols, got length {length}")
        return self.of(length)[0]

    def some(self, length: int) -> bool:
        """Whether the language has a word of that length.

        Which states lead to acceptance in r steps repeats from some r on, long before the counts get large.
        """
        while not self._cycle and len(self._possible) <= length:
            last, number = self._possible[-1], len(self._possible)
            following = tuple([any(last[target] for target in row) for row in self.dfa.delta])
            self._cycle = number - self._known.setdefault(following, number)
            if not self._cycle:
                self._possible.append(following)
        if length >= len(self._possible):
            start = len(self._possible) - self._cycle
            length = start + (length - start) % self._cycle
        return self._possible[length][0]


@lru_cache(maxsize=256)
def counts(dfa: Dfa) -> WordCounts:
    """The counts of an automaton, which are computed once."""
    return WordCounts(dfa)


def count_words(dfa: Dfa, length: int) -> int:
    """Number of words of the language of that length."""
    return counts(dfa).words(length)


def lengths_with_words(dfa: Dfa, low: int, high: int) -> list[int]:
    """The lengths low..high that have at least one word; (aa)* has no odd ones."""
    found = counts(dfa)
    return [length for length in range(max(low, 0), high + 1) if found.some(length)]


def all_words(dfa: Dfa, length: int) -> npt.NDArray[np.int64]:
    """All words of one length as an array ``[number, length]``, in alphabetical order.

    Raises `LengthwiseError` beyond ``MAX_LISTED`` symbols; sample instead.
    """
    number = count_words(dfa, length)
    require(
        number * max(1, length) <= MAX_LISTED,
        f"{number} words of length {length} are too many to list (limit {MAX_LISTED} symbols); sample them instead",
    )
    states = np.zeros(1, dtype=np.int64)
    words = np.zeros((1, 0), dtype=np.int64)
    for remaining in range(length - 1, -1, -1):
        possible = np.array([count > 0 for count in counts(dfa).of(remaining)])
        rows, symbols = np.nonzero(possible[dfa.delta_array[states]])
        words = np.concatenate([words[rows], symbols[:, None]], axis=1)
        states = dfa.delta_array[states[rows], symbols].astype(np.int64)
    return words if number else np.zeros((0, length), dtype=np.int64)
