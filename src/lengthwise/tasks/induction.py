"""Induction: the answer is the symbol that followed the queried one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import Alphabet2
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, SEP, Vocab
from lengthwise.tasks.base import TASKS, Task
from lengthwise.tasks.sampling import symbol_names
from lengthwise.tasks.string_task import draw


@TASKS.register("induction")
class Induction(Task):
    """``<bos> c a d b <sep> a d <eos>``: distinct symbols, one of them again, and what came after it.

    Length = number of distinct symbols. The queried one is uniform among all but the last.
    """

    summary = "distinct symbols and one of them again: which came after it?"
    min_length = 2

    letters: Alphabet2 = 150

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of(symbol_names(self.letters))

    def max_length(self) -> int:
        """Symbols are distinct."""
        return self.letters

    def chance(self, layout: Layout) -> float:
        """One of the symbols that come after another."""
        return 1.0 / (layout.length - 1)

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 0) has place i + 2, and so have its later copies; ``<sep>`` has 1."""
        n, every_row = layout.length, np.arange(seq.size)
        x = draw("distinct", self.vocab, n, seq.size, rng)
        queried = rng.integers(n - 1, size=seq.size, dtype=np.int64)
        seq.bos()
        given = seq.givens(x, place=np.arange(2, n + 2))
        seq.sep(place=1)
        query = seq.given(x[queried, every_row], place=queried + 2)
        found = queried + 1 + given[0]
        seq.predicted(x[queried + 1, every_row], place=queried + 3, parents=[found], selectors=[query, found - 1])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """A dictionary from each symbol to the next."""
        string = list(prompt[1:-2])
        if len(prompt) < 5 or prompt[0] != BOS or prompt[-2] != SEP or any(self.vocab[symbol] < 4 for symbol in string):
            raise ValueError("not a string, <sep> and a symbol")
        after = dict(pairwise(string))
        if len(set(string)) < len(string) or prompt[-1] not in after:
            raise ValueError("not distinct symbols and one of them that has a next one")
        return [after[prompt[-1]], EOS]
