"""Uniform words of a language by exact counting, and the labels of their prefixes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import Rng
from lengthwise.languages.automaton import Dfa

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
    require(length >= 0, f"a word has at least 0 symbols, got length {length}")
    return counts(dfa).of(length)[0]


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


def allowed_next(dfa: Dfa, words: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """Labels ``[B, T + 1, symbols + 1]`` of a batch of words ``[B, T]`` (symbol numbers).

    Entry [b, t, s] says whether the first t symbols of word b followed by symbol s begin a word of the language; the
    last column says whether the first t symbols are a word.
    """
    live = np.array(dfa.live, dtype=bool)
    labels = np.concatenate([live[dfa.delta_array], dfa.accepting_array[:, None]], axis=1)
    return labels[dfa.states_along(words)]


BITS = 62


class UniformSampler:
    """Draws uniform words of the language of an automaton.

    ``bits`` is the precision of the first comparison; any value gives the same distribution.
    """

    def __init__(self, dfa: Dfa, bits: int = BITS) -> None:
        require(1 <= bits <= BITS, f"bits must be between 1 and {BITS}, got {bits}")
        self.dfa, self.bits = dfa, bits
        self._thresholds: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]] = []

    def sample(self, length: int, size: int, rng: Rng) -> npt.NDArray[np.int64]:
        """``size`` independent words ``[size, length]`` as symbol numbers.

        Raises `LengthwiseError` if the language has no word of that length.
        """
        if count_words(self.dfa, length) == 0:
            raise LengthwiseError(f"the language has no word of length {length}; choose among lengths_with_words")
        words = np.empty((length, size), dtype=np.int64)
        state = np.zeros(size, dtype=np.int64)
        delta = self.dfa.delta_array.astype(np.int64)
        draws = rng.integers(1 << self.bits, size=(length, size), dtype=np.int64)
        for step in range(length):
            words[step] = self._next(state, length - 1 - step, draws[step], rng)
            state = delta[state, words[step]]
        return np.ascontiguousarray(words.T)

    def _next(
        self, state: npt.NDArray[np.int64], remaining: int, drawn: npt.NDArray[np.int64], rng: Rng
    ) -> npt.NDArray[np.int64]:
        """The next symbol of every word, with ``remaining`` symbols to follow it."""
        thresholds, inexact = self._tables(remaining)
        own = thresholds[state]
        symbols = (drawn[:, None] >= own).sum(axis=1)
        tied = drawn[:, None] == own
        undecided = np.flatnonzero((tied & inexact[state]).any(axis=1)) if tied.any() else ()
        for row in undecided:
            symbols[row] = self._decide(int(state[row]), remaining, int(drawn[row]), rng)
        return symbols

    def table(self, remaining: int) -> npt.NDArray[np.int64]:
        """``[states, symbols - 1]``: a number of ``bits`` bits picks symbol s where it is at least s of these."""
        return self._tables(remaining)[0]

    def _tables(self, remaining: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Per state and symbol but the last: the probability of it or an earlier symbol in units of 2^−bits, rounded
        down, and whether it was rounded.
        """
        while len(self._thresholds) <= remaining:
            completions = counts(self.dfa).of(len(self._thresholds))
            shape = (self.dfa.size, len(self.dfa.alphabet) - 1)
            thresholds, inexact = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
            for state, row in enumerate(self.dfa.delta):
                total = sum([completions[target] for target in row])
                cumulative = 0
                for symbol, target in enumerate(row[:-1]):
                    cumulative += completions[target]
                    whole, rest = divmod(cumulative << self.bits, total) if total else (0, 0)
                    thresholds[state, symbol], inexact[state, symbol] = whole, rest != 0
            self._thresholds.append((thresholds, inexact))
        return self._thresholds[remaining]

    def _decide(self, state: int, remaining: int, drawn: int, rng: Rng) -> int:
        """Refine one uniform number by more bits until it differs from every boundary."""
        completions = [counts(self.dfa).of(remaining)[target] for target in self.dfa.delta[state]]
        total, bits = sum(completions), self.bits
        while True:
            drawn, bits = (drawn << self.bits) | int(rng.integers(1 << self.bits)), bits + self.bits
            cumulative, symbol, clear = 0, 0, True
            for count in completions[:-1]:
                cumulative += count
                whole, rest = divmod(cumulative << bits, total)
                clear = clear and not (drawn == whole and rest)
                symbol += drawn >= whole
            if clear:
                return symbol


@lru_cache(maxsize=256)
def _sampler(dfa: Dfa) -> UniformSampler:
    return UniformSampler(dfa)


def sample_words(dfa: Dfa, length: int, size: int, rng: Rng) -> npt.NDArray[np.int64]:
    """Independent uniform words of the language of one length, ``[size, length]`` symbol numbers.

    For non-members sample from ``dfa.complement()`` or ``dfa.live_nonmembers()``. Raises `LengthwiseError` if the
    language has no word of that length.
    """
    return _sampler(dfa).sample(length, size, rng)
