"""The square root of a binary number, rounded down, most significant bit first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS, Vocab
from lengthwise.tasks.base import TASKS, Task
from lengthwise.tasks.string_task import read


@TASKS.register("square-root")
class SquareRoot(Task):
    """``<bos> 1 1 0 1 0 <sep> 1 0 1 <eos>``: the root of 26 is 5, most significant bit first.

    Length = bits of the number. The root has half as many bits, rounded up; each depends on the bits of the number down
    to twice its significance, and on none below.
    """

    summary = "the square root of a number of n bits, rounded down"

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of(["0", "1"])

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Bits 2j and 2j + 1 of the number, by significance, share a place with bit j of the root."""
        n = layout.length
        size = (n + 1) // 2
        bits = rng.integers(2, size=(n, seq.size), dtype=np.int64)
        numbers = [int("".join(map(str, column)), 2) for column in bits.T.tolist()]
        roots = [math.isqrt(number) for number in numbers]
        seq.bos()
        given = [seq.given(bits[i] + self.vocab["0"], place=size - (n - 1 - i) // 2 + 1) for i in range(n)]
        seq.sep(place=1)
        for j in reversed(range(size)):
            bit = np.array([root >> j & 1 for root in roots])
            seq.predicted(bit + self.vocab["0"], place=size - j + 1, parents=given[: n - 2 * j])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Newton's method, as the standard library does it."""
        string = read("repeats", self.vocab, prompt)
        root = math.isqrt(int("".join(string), 2))
        return [*format(root, f"0{(len(string) + 1) // 2}b"), EOS]
