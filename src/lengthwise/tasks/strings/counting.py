"""Counting from one number to another over an ordered vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import Alphabet2
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, SEP, Vocab
from lengthwise.tasks.base import TASKS, Task


@TASKS.register("counting")
class Counting(Task):
    """``<bos> 7 10 <sep> 7 8 9 10 <eos>``: all numbers from the first to the second.

    Length = numbers to count. Each number is the successor of the one before; the end is where the last one is met.
    """

    summary = "count from one number to another"
    place_rule = "next"

    numbers: Alphabet2 = 300

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of(map(str, range(self.numbers)))

    def max_length(self) -> int:
        """Numbers run out."""
        return self.numbers

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """The bounds and ``<sep>`` have place 1, number i (from 0) has i + 2."""
        n = layout.length
        start = rng.integers(self.numbers - n + 1, size=seq.size, dtype=np.int64) + 4
        seq.bos()
        before = seq.given(start, place=1)
        end = seq.given(start + n - 1, place=1)
        seq.sep(place=1)
        for i in range(n):
            before = seq.predicted(start + i, place=i + 2, parents=[before])
        seq.eos(place=n + 2, selectors=[end, before])

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Python's range."""
        if (
            len(prompt) != 4
            or prompt[0] != BOS
            or prompt[3] != SEP
            or min(map(self.vocab.__getitem__, prompt[1:3])) < 4
        ):
            raise ValueError("not two numbers between <bos> and <sep>")
        first, last = int(prompt[1]), int(prompt[2])
        if last < first:
            raise ValueError("the second number is below the first one")
        return [*map(str, range(first, last + 1)), EOS]
