"""The bitwise OR of two strings: alignment without carries."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, Vocab
from lengthwise.tasks.base import TASKS, Task


@TASKS.register("bitwise-or")
class BitwiseOr(Task):
    """``<bos> 1 0 0 | 0 0 1 = 1 0 1 <eos>``: every bit of the answer depends on the two bits at its place.

    Length = bits of each string. Bits of one index share a place.
    """

    summary = "the bitwise OR of two strings of n bits: alignment without carries"
    place_rule = "next"

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of(["0", "1", "|", "="])

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Place 1 is that of the signs, place i + 2 that of bit i (from 0)."""
        n, zero = layout.length, self.vocab["0"]
        x, y = rng.integers(2, size=(2, n, seq.size), dtype=np.int64)
        places = np.arange(2, n + 2)
        seq.bos()
        a = seq.givens(x + zero, places)
        seq.given(self.vocab["|"], place=1)
        b = seq.givens(y + zero, places)
        seq.given(self.vocab["="], place=1)
        for i in range(n):
            seq.predicted((x[i] | y[i]) + zero, place=i + 2, parents=[a[i], b[i]])
        seq.eos(place=n + 2)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Bit by bit."""
        first, bar, second = "".join(prompt[1:-1]).partition("|")
        if prompt[0] != BOS or prompt[-1] != "=" or not bar or len(first) != len(second) or not first:
            raise ValueError("not two strings of one length")
        if not set(first + second) <= {"0", "1"}:
            raise ValueError("not strings of bits")
        return [*("1" if "1" in pair else "0" for pair in zip(first, second, strict=True)), EOS]
