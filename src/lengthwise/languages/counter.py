"""Languages that need counting, by their step function, and the named ones of the literature."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import Rng
from lengthwise.languages.automaton import Dfa, numbered_graph
from lengthwise.languages.sampling import count_words, sample_words

MAX_COUNTER_STATES = 300_000


class CounterLanguage(ABC):
    """A deterministic machine with counters; a state is None once no continuation can be a word.

    ``start`` is the state before the first symbol.
    """

    name: str
    alphabet: tuple[str, ...]
    start: Hashable

    @abstractmethod
    def step(self, state: Any, symbol: str) -> Hashable | None:
        """The state after a symbol; None if the prefix is dead. A state that is not None must be live."""

    @abstractmethod
    def distance(self, state: Any) -> int:
        """Length of a shortest completion of a live state to a word; 0 iff the state accepts."""

    def run(self, word: str | tuple[str, ...]) -> Hashable | None:
        """The state after a word, None if no word of the language starts so; raises `LengthwiseError`."""
        state: Hashable | None = self.start
        for symbol in word:
            if symbol not in self.alphabet:
                raise LengthwiseError(f"symbol {symbol!r} is not in the alphabet {{{', '.join(self.alphabet)}}}")
            state = None if state is None else self.step(state, symbol)
        return state

    def accepts(self, word: str | tuple[str, ...]) -> bool:
        """Whether a word is in the language."""
        state = self.run(word)
        return state is not None and self.distance(state) == 0

    def up_to(self, length: int) -> Dfa:
        """An automaton that agrees on all words of at most ``length`` symbols, for counts and uniform samples.

        Its ``live`` flags hold for that bound only; use `allowed_next` of the language for next-symbol labels.
        """
        return _up_to(self, length)

    def allowed_next(self, words: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
        """The labels ``[B, T + 1, symbols + 1]`` of `labels.allowed_next` for words ``[B, T]``."""
        labels = np.zeros((words.shape[0], words.shape[1] + 1, len(self.alphabet) + 1), dtype=bool)
        known: dict[Hashable, tuple[npt.NDArray[np.bool_], tuple[Hashable | None, ...]]] = {}
        for row, word in enumerate(words.tolist()):
            state: Hashable | None = self.start
            for index in range(len(word) + 1):
                if state is None:
                    break
                if state not in known:
                    targets = tuple(self.step(state, symbol) for symbol in self.alphabet)
                    flags = [target is not None for target in targets]
                    known[state] = (np.array([*flags, self.distance(state) == 0]), targets)
                labels[row, index], targets = known[state]
                state = targets[word[index]] if index < len(word) else None
        return labels

    def count(self, length: int) -> int:
        """Number of words of that length."""
        return count_words(self.up_to(length), length)

    def sample(self, length: int, size: int, rng: Rng) -> npt.NDArray[np.int64]:
        """Exactly uniform words ``[size, length]`` of one length."""
        return sample_words(self.up_to(length), length, size, rng)

    def lengths(self, low: int, high: int) -> list[int]:
        """The lengths low..high that have words."""
        bounded = self.up_to(max(high, 0))
        return [length for length in range(max(low, 0), high + 1) if count_words(bounded, length) > 0]


@lru_cache(maxsize=64)
def _up_to(language: CounterLanguage, length: int) -> Dfa:
    depth = {language.start: 0}

    def successors(state: Hashable | None) -> Iterator[Hashable | None]:
        for symbol in language.alphabet:
            target = None if state is None else language.step(state, symbol)
            # A state that cannot be completed with the remaining symbols is not expanded.
            hopeless = target is None or depth[state] + 1 + language.distance(target) > length
            if not hopeless:
                depth.setdefault(target, depth[state] + 1)
            yield None if hopeless else target

    many = f"{language.name} needs more than {MAX_COUNTER_STATES} states at length {length}; shorten it"
    states, delta = numbered_graph(language.start, successors, MAX_COUNTER_STATES, LengthwiseError(many))
    return Dfa(language.alphabet, delta, tuple(q is not None and language.distance(q) == 0 for q in states))


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
        choose = f"choose a multiple of {len(self.alphabet)}"
        require(self.count(length) > 0, f"{self.name} has no word of length {length}; {choose}")
        word = np.repeat(np.arange(len(self.alphabet)), length // len(self.alphabet))
        return np.tile(word, (size, 1))


class Shuffle2(CounterLanguage):
    """Two kinds of balanced brackets, interleaved freely: ``( )`` and ``[ ]``."""

    name, alphabet = "Shuffle-2", ("(", ")", "[", "]")
    start = (0, 0)

    def step(self, state: tuple[int, int], symbol: str) -> tuple[int, int] | None:
        kind, closes = divmod(self.alphabet.index(symbol), 2)
        change = -1 if closes else 1
        first, second = (count + change * (kind == which) for which, count in enumerate(state))
        return (first, second) if min(first, second) >= 0 else None

    def distance(self, state: tuple[int, int]) -> int:
        return sum(state)

    def count(self, length: int) -> int:
        return sum(self._weights(length))

    def lengths(self, low: int, high: int) -> list[int]:
        return [length for length in range(max(low, 0), high + 1) if length % 2 == 0]

    def sample(self, length: int, size: int, rng: Rng) -> npt.NDArray[np.int64]:
        """Uniform words: draw the number of symbols of each kind, then their positions, then two balanced words."""
        require(length % 2 == 0 <= length, f"{self.name} has no word of length {length}; choose an even one")
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
