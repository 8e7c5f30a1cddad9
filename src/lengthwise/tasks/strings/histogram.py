"""The histogram of a string: how often does each of its tokens occur?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated

import numpy as np
from pydantic import Field

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import Alphabet1
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS, Vocab
from lengthwise.tasks.base import TASKS, Task
from lengthwise.tasks.sampling import symbol_names
from lengthwise.tasks.string_task import read


@TASKS.register("histogram")
class Histogram(Task):
    """``<bos> b a b <sep> 2 1 2 <eos>``: for every token, how often it occurs in the string.

    Length = number of symbols, of which there are ``letters``; the largest count is ``most``. Every count depends on
    all symbols. A symbol and its count share a place.
    """

    summary = "for every token of a string, how often it occurs"

    letters: Annotated[int, Field(ge=2, le=26)] = 4
    most: Alphabet1 = 200

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of([*symbol_names(self.letters), *map(str, range(1, self.most + 1))])

    def max_length(self) -> int:
        """Counts have a token of their own."""
        return self.most

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 0) and its count have place i + 2, ``<sep>`` has 1."""
        n = layout.length
        x = rng.integers(self.letters, size=(n, seq.size), dtype=np.int64) + 4
        seq.bos()
        given = seq.givens(x, place=np.arange(2, n + 2))
        seq.sep(place=1)
        for i in range(n):
            count = (x == x[i]).sum(axis=0)
            seq.predicted(count - 1 + self.vocab["1"], place=i + 2, parents=given if n > 1 else [])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Python's count."""
        string = read("repeats", self.vocab, prompt)
        if any(self.vocab[symbol] >= self.vocab["1"] for symbol in string):
            raise ValueError("not a string of letters")
        return [*(str(string.count(symbol)) for symbol in string), EOS]
