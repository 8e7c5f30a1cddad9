"""Flip-flop: the task reads the bit that was written last (after Liu et al. 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import Share
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, Vocab
from lengthwise.tasks.base import TASKS, Task


@TASKS.register("flip-flop")
class FlipFlop(Task):
    """``<bos> w 1 i 0 r 1 i 1 r 1 <eos>``: write, ignore, read; what is read is the bit written last.

    Length = pairs of instruction and bit; the first one writes, the last one reads, and its bit is the answer. In
    between an instruction is ``i`` with probability ``ignore``, else ``w`` or ``r``. Earlier reads show the right bit.
    """

    summary = "the bit written last, among bits to ignore"
    min_length = 2

    ignore: Share = 0.8

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of(["0", "1", "w", "r", "i"])

    def chance(self, layout: Layout) -> float:
        return 0.5

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Both tokens of pair i (from 0) have place i + 1."""
        n, rows = layout.length, seq.size
        w, r, i = (self.vocab[name] for name in "wri")
        u = rng.random((n, rows))
        instruction = np.where(u < self.ignore, i, np.where(u < (1 + self.ignore) / 2, w, r))
        instruction[0], instruction[-1] = w, r
        drawn = rng.integers(2, size=(n, rows), dtype=np.int64)
        written = np.maximum.accumulate(np.where(instruction == w, np.arange(n)[:, None], 0), axis=0)
        bits = np.where(instruction == r, np.take_along_axis(drawn, written, axis=0), drawn) + 4
        seq.bos()
        instructions = []
        for step in range(n):
            instructions.append(seq.given(instruction[step], place=step + 1))
            if step < n - 1:
                seq.given(bits[step], place=step + 1)
        seq.predicted(bits[-1], place=n, parents=[2 * written[-1] + 2], selectors=instructions)
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Keep one bit of memory."""
        steps, bits = list(prompt[1::2]), list(prompt[2::2])
        if len(prompt) < 4 or prompt[0] != BOS or len(steps) != len(bits) + 1 or steps[0] != "w" or steps[-1] != "r":
            raise ValueError("not pairs that start with a write and end with a read")
        memory = ""
        for step, bit in zip(steps, bits, strict=False):
            if step not in ("w", "r", "i") or bit not in ("0", "1") or (step == "r" and bit != memory):
                raise ValueError("not pairs of an instruction and a bit that fits it")
            if step == "w":
                memory = bit
        return [memory, EOS]
