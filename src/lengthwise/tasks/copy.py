"""Copy a string: distinct symbols (one induction step suffices) or a small alphabet (it does not)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import config
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, SEP, Vocab
from lengthwise.tasks.base import TASKS, Task
from lengthwise.tasks.sampling import distinct, symbol_names

Symbols = Literal["distinct", "repeats"]


@TASKS.register("copy")
@config
class Copy(Task):
    """``<bos> a b a <sep> a b a <eos>`` with repeats; with distinct symbols no symbol occurs twice in a string.

    Length = number of symbols. ``letters`` is the size of the alphabet, by default 150 for distinct symbols and 2 for
    repeats (the sizes of Huang et al. 2025). A symbol and its copy share a place.
    """

    summary = "a string, then the same string again"

    symbols: Symbols = "distinct"
    letters: int | None = None

    def __post_init__(self) -> None:
        if self.letters is not None and self.letters < 1:
            raise ValueError(f"letters must be 1 or more, got {self.letters}")

    @cached_property
    def vocab(self) -> Vocab:
        """The alphabet."""
        return alphabet(self.symbols, self.letters)

    def max_length(self) -> int | None:
        """Distinct symbols run out."""
        return len(self.vocab) - 4 if self.symbols == "distinct" else None

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 0) and its copy have place i + 2, ``<sep>`` has 1."""
        n = layout.length
        x = draw(self.symbols, self.vocab, n, seq.size, rng)
        seq.bos()
        given = seq.givens(x, place=np.arange(2, n + 2))
        seq.sep(place=1)
        for i in range(n):
            seq.predicted(x[i], place=i + 2, parents=[given[i]])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """The string between ``<bos>`` and ``<sep>``."""
        return [*read(self.symbols, self.vocab, prompt), EOS]


def alphabet(symbols: Symbols, letters: int | None) -> Vocab:
    """``letters`` symbols, by default 150 if they are distinct and 2 if they repeat."""
    return Vocab.of(symbol_names(letters or (150 if symbols == "distinct" else 2)))


def draw(symbols: Symbols, vocab: Vocab, length: int, rows: int, rng: Rng) -> np.ndarray:
    """Token ids of random strings, column by column: shape ``[length, rows]``."""
    letters = len(vocab) - 4
    if symbols == "distinct":
        return np.ascontiguousarray(distinct(rng, letters, length, rows).T) + 4
    return rng.integers(letters, size=(length, rows), dtype=np.int64) + 4


def read(symbols: Symbols, vocab: Vocab, prompt: Sequence[str]) -> list[str]:
    """The string of a prompt ``<bos> … <sep>``; raises `ValueError` where it is none."""
    string = list(prompt[1:-1])
    if len(prompt) < 3 or prompt[0] != BOS or prompt[-1] != SEP or any(vocab[symbol] < 4 for symbol in string):
        raise ValueError("not a string between <bos> and <sep>")
    if symbols == "distinct" and len(set(string)) < len(string):
        raise ValueError("the symbols are not distinct")
    return string
