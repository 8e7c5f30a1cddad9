"""The next larger symbol of a list: an auxiliary task for sorting (after Awasthi and Gupta 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import Alphabet2
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, Vocab
from lengthwise.tasks.base import TASKS, Task
from lengthwise.tasks.sampling import symbol_names
from lengthwise.tasks.string_task import draw


@TASKS.register("successor")
class Successor(Task):
    """``<bos> 7 2 5 after 2 5 <eos>``: among distinct symbols, the smallest one above a given one.

    Length = number of symbols before ``after``. Every symbol but the largest is equally likely behind it. The
    answer has one parent, chosen by all symbols. A symbol has one place wherever it stands.
    """

    summary = "the next larger symbol of a list, a step of sorting"
    min_length = 2

    letters: Alphabet2 = 150

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of([*symbol_names(self.letters), "after"])

    def max_length(self) -> int:
        """Symbols are distinct."""
        return self.letters

    def chance(self, layout: Layout) -> float:
        """Any symbol but the one behind ``after`` may be the answer."""
        return 1 / (layout.length - 1)

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 0) has place i + 2 wherever it stands, ``after`` has 1."""
        n, rows = layout.length, np.arange(seq.size)
        x = draw("distinct", Vocab.of(symbol_names(self.letters)), n, seq.size, rng)
        order = np.argsort(x, axis=0)
        rank = rng.integers(n - 1, size=seq.size)
        now, following = order[rank, rows], order[rank + 1, rows]
        seq.bos()
        given = seq.givens(x, place=np.arange(2, n + 2))
        seq.given(self.vocab["after"], place=1)
        wanted = seq.given(x[now, rows], place=now + 2)
        seq.predicted(x[following, rows], following + 2, [following + given[0]], [*given, wanted])
        seq.eos(place=1)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """The minimum of the larger ones, by place in the alphabet."""
        text, number = list(prompt[1:-2]), self.vocab.tokens.index
        if prompt[0] != BOS or prompt[-2] != "after" or prompt[-1] not in text or len(set(text)) < len(text):
            raise ValueError("not a list of distinct symbols and one of them")
        larger = [symbol for symbol in text if number(symbol) > number(prompt[-1])]
        if not larger or "after" in text:
            raise ValueError("the largest symbol has no successor")
        return [min(larger, key=number), EOS]
