"""`Dfa` is a complete deterministic automaton, hashable, with arrays for batches of words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from lengthwise.core.errors import LengthwiseError, require

Word = tuple[int, ...]  # symbols by their index in the alphabet


@dataclass(frozen=True)
class Dfa:
    """States 0..n-1 with start state 0; ``delta[q][s]`` is the successor of state q on symbol number s.

    Raises `LengthwiseError` for repeated symbols and for rows that do not fit.
    """

    alphabet: tuple[str, ...]
    delta: tuple[tuple[int, ...], ...]
    accepting: tuple[bool, ...]

    def __post_init__(self) -> None:
        count = len(self.delta)
        require(count > 0, "an automaton needs at least one state")
        require(len(set(self.alphabet)) == len(self.alphabet) > 0, "an automaton needs an alphabet of distinct symbols")
        require(len(self.accepting) == count, f"{count} states but {len(self.accepting)} acceptance flags")
        for state, row in enumerate(self.delta):
            fits = len(row) == len(self.alphabet) and all(0 <= target < count for target in row)
            if not fits:
                raise LengthwiseError(f"state {state} needs one successor in 0..{count - 1} per symbol, got {row}")

    @property
    def size(self) -> int:
        """Number of states, the sink included."""
        return len(self.delta)

    def encode(self, word: str | Sequence[str]) -> Word:
        """Symbol numbers of a word given as text (one character each) or as a sequence of symbols.

        Raises `LengthwiseError` for a symbol outside the alphabet.
        """
        try:
            return tuple(self._numbers[symbol] for symbol in word)
        except KeyError as error:
            raise LengthwiseError(
                f"symbol {error.args[0]!r} is not in the alphabet {{{', '.join(self.alphabet)}}}; declare a larger one"
            ) from None

    def decode(self, word: Iterable[int]) -> tuple[str, ...]:
        """The symbols of a word given by numbers."""
        return tuple(self.alphabet[number] for number in word)

    def text(self, word: Iterable[int]) -> str:
        """The word as text: joined symbols, spaced if one has several characters, ε if empty."""
        symbols = self.decode(word)
        return ("" if all(len(symbol) == 1 for symbol in self.alphabet) else " ").join(symbols) or "ε"

    def run(self, word: Iterable[int], start: int = 0) -> int:
        """The state after ``word``."""
        state = start
        for symbol in word:
            state = self.delta[state][symbol]
        return state

    def accepts(self, word: str | Sequence[str]) -> bool:
        """Whether a word (text or symbols) is in the language; raises `LengthwiseError` for unknown symbols."""
        return self.accepting[self.run(self.encode(word))]

    def states_along(self, words: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
        """States before and after every symbol of a batch: ``[B, T]`` symbol numbers give ``[B, T + 1]`` states."""
        states = np.zeros((words.shape[0], words.shape[1] + 1), dtype=np.int32)
        for step in range(words.shape[1]):
            states[:, step + 1] = self.delta_array[states[:, step], words[:, step]]
        return states

    def accepts_batch(self, words: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
        """Membership ``[B]`` of a batch of words ``[B, T]``."""
        state = np.zeros(words.shape[0], dtype=np.int32)
        for step in range(words.shape[1]):
            state = self.delta_array[state, words[:, step]]
        return self.accepting_array[state]

    @cached_property
    def delta_array(self) -> npt.NDArray[np.int32]:
        """Transitions as an array ``[states, symbols]``."""
        return np.array(self.delta, dtype=np.int32)

    @cached_property
    def accepting_array(self) -> npt.NDArray[np.bool_]:
        """Acceptance flags ``[states]``."""
        return np.array(self.accepting, dtype=bool)

    @cached_property
    def live(self) -> tuple[bool, ...]:
        """Per state, whether some accepting state can be reached."""
        sources: list[list[int]] = [[] for _ in self.delta]
        for state, row in enumerate(self.delta):
            for target in row:
                sources[target].append(state)
        live = list(self.accepting)
        pending = [state for state, flag in enumerate(live) if flag]
        while pending:
            for source in sources[pending.pop()]:
                if not live[source]:
                    live[source] = True
                    pending.append(source)
        return tuple(live)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.alphabet)}

    def complement(self) -> Dfa:
        """The words over the alphabet that are not in the language."""
        return replace(self, accepting=tuple(not flag for flag in self.accepting))

    def live_nonmembers(self) -> Dfa:
        """The words outside the language that are prefixes of words in it."""
        return replace(
            self, accepting=tuple(on and not flag for on, flag in zip(self.live, self.accepting, strict=True))
        )

    def right_quotient(self, symbol: int) -> Dfa:
        """The words w with ``w · symbol`` in the language (same transitions; not minimal)."""
        return replace(self, accepting=tuple(self.accepting[row[symbol]] for row in self.delta))
