"""The base class of tasks on a random string, with functions that draw and read such strings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from lengthwise.core.batch import SequenceBuilder
from lengthwise.core.bounds import Alphabet1
from lengthwise.core.config import config
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, SEP, Vocab
from lengthwise.tasks.base import Task
from lengthwise.tasks.sampling import distinct, symbol_names

SymbolChoice = Literal["distinct", "repeats"]


@config
class StringTask(Task):
    """A task whose prompt is ``<bos> a b a <sep>``; with distinct symbols no symbol occurs twice in a string.

    Length = number of symbols. ``letters`` is the size of the alphabet, by default 150 for distinct symbols and 2 for
    repeats (the sizes of Huang et al. 2025).
    """

    symbols: SymbolChoice = "distinct"
    letters: Alphabet1 | None = None

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of(symbol_names(self.letters or (150 if self.symbols == "distinct" else 2)))

    def max_length(self) -> int | None:
        """Distinct symbols run out."""
        return len(self.vocab) - 4 if self.symbols == "distinct" else None

    def write_in_order(self, seq: SequenceBuilder, rng: Rng, length: int, order: Iterable[int]) -> None:
        """A drawn string of ``length`` symbols, then its symbols (from 0) in ``order``.

        Symbol i and its copies have place i + 2, ``<sep>`` has 1.
        """
        x = draw(self.symbols, self.vocab, length, seq.size, rng)
        seq.bos()
        given = seq.givens(x, place=np.arange(2, length + 2))
        seq.sep(place=1)
        for i in order:
            seq.predicted(x[i], place=i + 2, parents=[given[i]])
        seq.eos()


def draw(symbols: SymbolChoice, vocab: Vocab, length: int, rows: int, rng: Rng) -> np.ndarray:
    """Token ids of random strings, column by column: shape ``[length, rows]``."""
    letters = len(vocab) - 4
    if symbols == "distinct":
        return np.ascontiguousarray(distinct(rng, letters, length, rows).T) + 4
    return rng.integers(letters, size=(length, rows), dtype=np.int64) + 4


def read(symbols: SymbolChoice, vocab: Vocab, prompt: Sequence[str]) -> list[str]:
    """The string of a prompt ``<bos> … <sep>``; raises `ValueError` for any other prompt."""
    string = list(prompt[1:-1])
    if len(prompt) < 3 or prompt[0] != BOS or prompt[-1] != SEP or any(vocab[symbol] < 4 for symbol in string):
        raise ValueError("not a string between <bos> and <sep>")
    if symbols == "distinct" and len(set(string)) < len(string):
        raise ValueError("the symbols are not distinct")
    return string
