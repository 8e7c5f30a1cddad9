"""The named counter languages: Dyck-1, equal runs such as aⁿbⁿ, Shuffle-2 and Boolean expressions."""

from __future__ import annotations

from math import comb

import numpy as np
import numpy.typing as npt

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import Rng
from lengthwise.languages.counter import CounterLanguage


class Dyck1(CounterLanguage):
    """Balanced brackets of one kind; ``a`` opens, ``b`` closes."""

    name, alphabet = "Dyck-1", ("a", "b")
    start = 0

    def step(self, state: int, symbol: str) -> int | None:
        depth = state + (1 if symbol == "a" else -1)
        return depth if depth >= 0 else None

    def distance(self, state: int) -> int:
        return state


class EqualRuns(CounterLanguage):
    """aⁿbⁿ, aⁿbⁿcⁿ, …: one run per letter, all equally long; the empty word (n = 0) belongs to it."""

    def __init__(self, letters: str) -> None:
        require(len(letters) >= 2 and len(set(letters)) == len(letters), f"needs two or more letters, got {letters!r}")
        self.alphabet = tuple(letters)
        self.name = "".join(f"{letter}^n" for letter in letters)

    start = (0, 0, 0)  # (letter of the current run, its length so far, length of the first run)

    def step(self, state: tuple[int, int, int], symbol: str) -> tuple[int, int, int] | None:
        letter, run, first = state
        number = self.alphabet.index(symbol)
        if number == letter:
            if letter == 0:
                return (0, run + 1, run + 1)
            return (letter, run + 1, first) if run < first else None
        return (number, 1, first) if number == letter + 1 and run == first > 0 else None

    def distance(self, state: tuple[int, int, int]) -> int:
        letter, run, first = state
        return (first - run) + first * (len(self.alphabet) - 1 - letter)

    def count(self, length: int) -> int:
        return int(length >= 0 and length % len(self.alphabet) == 0)

    def lengths(self, low: int, high: int) -> list[int]:
        return [length for length in range(max(low, 0), high + 1) if self.count(length)]

    def sample(self, length: int, size: int, rng: Rng) -> npt.NDArray[np.int64]:
        """The only word, ``size`` times; ``rng`` is not used."""
        if not self.count(length):
            raise LengthwiseError(
                f"{self.name} has no word of length {length}; choose a multiple of {len(self.alphabet)}"
            )
        word = np.repeat(np.arange(len(self.alphabet)), length // len(self.alphabet))
        return np.tile(word, (size, 1))


class Shuffle2(CounterLanguage):
    """Two kinds of balanced brackets, interleaved freely: ``( )`` and ``[ ]``."""

    name, alphabet = "Shuffle-2", ("(", ")", "[", "]")
    start = (0, 0)

    def step(self, state: tuple[int, int], symbol: str) -> tuple[int, int] | None:
        first, second = state
        match symbol:
            case "(":
                return (first + 1, second)
            case ")":
                return (first - 1, second) if first else None
            case "[":
                return (first, second + 1)
            case _:
                return (first, second - 1) if second else None

    def distance(self, state: tuple[int, int]) -> int:
        return sum(state)

    def count(self, length: int) -> int:
        return sum(self._weights(length))

    def lengths(self, low: int, high: int) -> list[int]:
        return [length for length in range(max(low, 0), high + 1) if length % 2 == 0]

    def sample(self, length: int, size: int, rng: Rng) -> npt.NDArray[np.int64]:
        """Uniform words: draw the number of symbols of each kind, then their positions, then two balanced words."""
        if length % 2 or length < 0:
            raise LengthwiseError(f"{self.name} has no word of length {length}; choose an even one")
        totals = np.array([_below(sum(self._weights(length)), rng) for _ in range(size)], dtype=object)
        words = np.empty((size, length), dtype=np.int64)
        bounds = np.cumsum(np.array(self._weights(length), dtype=object))
        pairs = np.array([int(np.sum(bounds <= total)) for total in totals])
        for number in np.unique(pairs):
            rows = np.flatnonzero(pairs == number)
            order = np.argsort(rng.random((len(rows), length)), axis=1)
            for kind, positions in ((0, order[:, : 2 * number]), (1, order[:, 2 * number :])):
                brackets = _DYCK.sample(positions.shape[1], len(rows), rng)
                words[rows[:, None], np.sort(positions, axis=1)] = brackets + 2 * kind
        return words

    @staticmethod
    def _weights(length: int) -> list[int]:
        """The number of words with 2i symbols of the first kind, for each i."""
        if length % 2 or length < 0:
            return []
        half = length // 2
        return [comb(length, 2 * i) * _catalan(i) * _catalan(half - i) for i in range(half + 1)]


class BooleanExpressions(CounterLanguage):
    """Boolean-n: expressions in prefix notation with values 0 and 1 and one operator of each arity 1..n.

    The operators are ``~`` (1), ``+`` (2), ``>`` (3), ``@`` (4), ``#`` (5). The counter is the number of missing
    subexpressions; after a complete expression only the end is allowed.
    """

    OPERATORS = "~+>@#"

    def __init__(self, arity: int) -> None:
        require(1 <= arity <= 5, f"Boolean-n needs an arity between 1 and 5, got {arity}")
        self.name = f"Boolean-{arity}"
        self.alphabet = ("0", "1", *self.OPERATORS[:arity])

    start = 1

    def step(self, state: int, symbol: str) -> int | None:
        if state == 0:
            return None
        return state - 1 + (self.OPERATORS.index(symbol) + 1 if symbol in self.OPERATORS else 0)

    def distance(self, state: int) -> int:
        return state


_DYCK = Dyck1()

COUNTER_LANGUAGES: dict[str, CounterLanguage] = {
    language.name: language
    for language in (_DYCK, EqualRuns("ab"), EqualRuns("abc"), Shuffle2(), BooleanExpressions(3))
}


def _catalan(pairs: int) -> int:
    return comb(2 * pairs, pairs) // (pairs + 1)


def _below(bound: int, rng: Rng) -> int:
    """A uniform integer in 0..bound−1 of any size."""
    bits = bound.bit_length()
    while True:
        drawn = int.from_bytes(rng.bytes(bits // 8 + 1), "big") >> (8 - bits % 8)
        if drawn < bound:
            return drawn
