"""`CounterLanguage` is the base of languages with counters, with exact counts and uniform samples.

Up to a bounded length a counter language is that of a finite automaton (`CounterLanguage.up_to`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import Rng
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.languages.words.counting import count_words
from lengthwise.languages.words.sampling import sample_words

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

    def accepts(self, word: str | tuple[str, ...]) -> bool:
        """Whether a word is in the language."""
        state: Hashable | None = self.start
        for symbol in word:
            if symbol not in self.alphabet:
                raise LengthwiseError(f"symbol {symbol!r} is not in the alphabet {{{', '.join(self.alphabet)}}}")
            state = None if state is None else self.step(state, symbol)
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
    # A state that cannot be completed with the remaining symbols is not expanded.
    numbers: dict[Hashable, int] = {language.start: 0}
    depth = {language.start: 0}
    queue: list[Hashable] = [language.start]
    rows: list[list[int]] = []
    sink = -1
    for state in queue:
        row: list[int] = []
        for symbol in language.alphabet:
            target = language.step(state, symbol)
            hopeless = target is None or depth[state] + 1 + language.distance(target) > length
            if not hopeless and target not in numbers:
                require(
                    len(numbers) < MAX_COUNTER_STATES,
                    f"{language.name} needs more than {MAX_COUNTER_STATES} states at length {length}; shorten it",
                )
                numbers[target] = len(numbers)
                depth[target] = depth[state] + 1
                queue.append(target)
            row.append(sink if hopeless else numbers[target])
        rows.append(row)
    last = len(rows)
    delta = tuple(tuple(target if target >= 0 else last for target in row) for row in rows)
    finals = tuple(language.distance(state) == 0 for state in queue)
    return Dfa(language.alphabet, (*delta, (last,) * len(language.alphabet)), (*finals, False))
