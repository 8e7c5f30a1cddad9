"""Sorting distinct symbols, and by buckets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated

import numpy as np
from pydantic import Field

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import Alphabet1
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS, Vocab
from lengthwise.tasks.base import TASKS, DistinctSymbols, Task, draw, read, symbol_names


def write_sorted(seq: SequenceBuilder, x: np.ndarray, *, with_last: bool) -> None:
    """A string ``[length, B]`` and the same in ascending order; symbol i and its copy have place i + 2, ``<sep>`` 1.

    A copy is chosen by all symbols, ``with_last`` also by the copy before it.
    """
    order = np.argsort(x, axis=0, kind="stable")
    ascending = np.take_along_axis(x, order, axis=0)
    seq.bos()
    given = seq.givens(x, place=np.arange(2, len(x) + 2))
    last = seq.sep(place=1)
    for at, symbols in zip(order, ascending, strict=True):
        selectors = [*given, last] if with_last else given
        last = seq.predicted(symbols, place=at + 2, parents=[at + given[0]], selectors=selectors)
    seq.eos()


@TASKS.register("sort")
class Sort(DistinctSymbols):
    """``<bos> 7 2 5 <sep> 2 5 7 <eos>``: distinct symbols in ascending order.

    Length = number of symbols. The next symbol is the smallest one above the current one: one parent, chosen by all
    symbols. A symbol and its copy share a place.
    """

    summary = "distinct symbols, then the same in ascending order"

    letters: Alphabet1 = 150

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        write_sorted(seq, draw("distinct", self.vocab, layout.length, seq.size, rng), with_last=True)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        return [*sorted(read("distinct", self.vocab, prompt), key=self.vocab.tokens.index), EOS]


@TASKS.register("bucket-sort")
class BucketSort(Task):
    """``<bos> c a c b <sep> a b c c <eos>``: symbols from an alphabet of 5 in ascending order, repeats included.

    Length = number of symbols. Equal symbols keep their order, so that every copy has one parent, chosen by all
    symbols; the two share a place.
    """

    summary = "symbols from an alphabet of 5, then the same in ascending order"

    letters: Annotated[int, Field(ge=2, le=26)] = 5

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of(symbol_names(self.letters))

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        write_sorted(seq, draw("repeats", self.vocab, layout.length, seq.size, rng), with_last=False)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        string = read("repeats", self.vocab, prompt)
        return [*(letter for letter in self.vocab.tokens[4:] for _ in range(string.count(letter))), EOS]
