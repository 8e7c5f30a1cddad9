"""Majority: the answer is the most frequent letter (formats of Huang et al. 2025)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import Alphabet2
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS, Vocab
from lengthwise.tasks.base import TASKS, Task
from lengthwise.tasks.sampling import bits_with_ones, symbol_names
from lengthwise.tasks.string_task import read


@TASKS.register("majority")
class Majority(Task):
    """``<bos> b a b <sep> b <eos>``: the letter that occurs most often, which is always one.

    Length = number of letters. Letters are iid, drawn again until one letter leads; with ``letters=2`` they are 0 and
    1, and the number of zeros is uniform among those without a tie. The answer depends on
    every letter, or on all but one where the number of bits is even.
    """

    summary = "the most frequent letter"

    letters: Alphabet2 = 26

    @cached_property
    def vocab(self) -> Vocab:
        """Letters, or bits if there are two."""
        return Vocab.of(["0", "1"] if self.letters == 2 else symbol_names(self.letters))

    def chance(self, layout: Layout) -> float:
        """One of the letters that there is room for."""
        return 1.0 / min(self.letters, layout.length) if self.letters > 2 else 0.5

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """All letters share place 1 with the answer; the separator has place 2."""
        n = layout.length
        if self.letters == 2:
            x = bits_without_tie(rng, n, seq.size)
        else:
            x = _letters_with_a_leader(rng, self.letters, n, seq.size)
        seq.bos()
        given = seq.givens(x.T + 4, place=1)
        seq.sep(place=2)
        seq.predicted(counts(x, self.letters).argmax(axis=1) + 4, place=1, parents=deciding(given, self.letters))
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        return [leader(read("repeats", self.vocab, prompt)), EOS]


def leader(string: Sequence[str]) -> str:
    """The most frequent symbol; raises `ValueError` on a tie."""
    ranked = sorted((string.count(symbol), symbol) for symbol in set(string))
    if len(ranked) > 1 and ranked[-1][0] == ranked[-2][0]:
        raise ValueError("no letter leads")
    return ranked[-1][1]


def deciding(given: list[int], letters: int) -> list[int]:
    """The letters that settle which one leads, given that one does.

    An even number of bits without tie has a lead of two, so the last bit can't turn it; nor can one of two letters.
    """
    return given[:-1] if len(given) == 2 or (letters == 2 and len(given) % 2 == 0) else given


def counts(x: np.ndarray, letters: int) -> np.ndarray:
    """How often each letter occurs, shape ``[rows, letters]``."""
    rows = len(x)
    flat = x + letters * np.arange(rows)[:, None]
    return np.bincount(flat.ravel(), minlength=rows * letters).reshape(rows, letters)


def bits_without_tie(rng: Rng, length: int, rows: int) -> np.ndarray:
    """Bits whose number of ones is uniform in 0..length except length / 2, shuffled."""
    tie = length // 2 if length % 2 == 0 else length + 1
    ones = rng.integers(length + (length % 2), size=rows, dtype=np.int64)
    return bits_with_ones(rng, length, ones + (ones >= tie))


def _letters_with_a_leader(rng: Rng, letters: int, length: int, rows: int) -> np.ndarray:
    parts, missing = [], rows
    while missing > 0:
        x = rng.integers(letters, size=(4 * missing, length), dtype=np.int64)
        ranked = np.partition(counts(x, letters), letters - 2, axis=1)
        parts.append(x[ranked[:, -1] > ranked[:, -2]][:missing])
        missing -= len(parts[-1])
    return np.concatenate(parts)
