"""Every t-th symbol of a string: induction at distance t (after Huang et al. 2025, appendix G.7)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import Alphabet1, AtLeast1
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, SEP, Vocab
from lengthwise.tasks.base import TASKS, Task
from lengthwise.tasks.sampling import symbol_names
from lengthwise.tasks.string_task import draw

FILLER = "#"


@TASKS.register("look-back")
class LookBack(Task):
    """``<bos> # a b c d e <sep> a c e <eos>`` for t = 2: the first symbol and every t-th one after it.

    Length = number of symbols, all distinct, after t − 1 fillers. With t = 1 this is copying. The next answer is the
    symbol t places after the last one.
    """

    summary = "every t-th symbol of a string: induction at distance t"

    t: AtLeast1 = 2
    letters: Alphabet1 = 150

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of([*symbol_names(self.letters), FILLER])

    def max_length(self) -> int:
        """Symbols are distinct."""
        return self.letters

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 0) and its copy have place i + t + 1, fillers 2 to t, ``<sep>`` 1."""
        n = layout.length
        x = draw("distinct", Vocab(self.vocab.tokens[:-1]), n, seq.size, rng)
        seq.bos()
        for i in range(self.t - 1):
            seq.given(self.vocab[FILLER], place=i + 2)
        given = seq.givens(x, place=np.arange(n) + self.t + 1)
        seq.sep(place=1)
        for i in range(0, n, self.t):
            seq.predicted(x[i], place=i + self.t + 1, parents=[given[i]])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        string, result = list(prompt[self.t : -1]), []
        fillers = list(prompt[1 : self.t])
        if prompt[0] != BOS or prompt[-1] != SEP or fillers != [FILLER] * (self.t - 1) or not string:
            raise ValueError("not a string after fillers")
        if len(set(string)) < len(string) or any(not 4 <= self.vocab[symbol] < 4 + self.letters for symbol in string):
            raise ValueError("not a string of distinct symbols")
        for index, symbol in enumerate(string):
            if index % self.t == 0:
                result.append(symbol)
        return [*result, EOS]
