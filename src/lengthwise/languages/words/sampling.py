"""Samples words of a given length exactly uniformly.

A word is drawn symbol by symbol with the exact odds (completions through a symbol : all completions), which are big
integers. A batch compares random 62-bit integers with the odds rounded down to 62 bits; only where a draw equals a
rounded boundary do more random bits decide. So small integers suffice, and the distribution is exact.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import Rng
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.languages.words.counting import counts

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
        if counts(self.dfa).words(length) == 0:
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
        thresholds, inexact = self._table(remaining)
        own = thresholds[state]
        symbols = (drawn[:, None] >= own).sum(axis=1)
        tied = drawn[:, None] == own
        undecided = np.flatnonzero((tied & inexact[state]).any(axis=1)) if tied.any() else ()
        for row in undecided:
            symbols[row] = self._decide(int(state[row]), remaining, int(drawn[row]), rng)
        return symbols

    def _table(self, remaining: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
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
