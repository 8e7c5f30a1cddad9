"""Interleaved binary majorities, one answer per residue of the position (format of Huang et al. 2025)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import AtLeast1
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS, Vocab
from lengthwise.tasks.base import TASKS, Task
from lengthwise.tasks.majority import bits_without_tie, deciding, leader
from lengthwise.tasks.string_task import read


@TASKS.register("bin-majority-interleave")
class BinMajorityInterleave(Task):
    """``<bos> 1 0 0 <sep> 1 0 0 <eos>``: ``period`` interleaved streams of bits; the answer is the majority of each.

    Length = bits in total, a multiple of the period. In each stream the number of zeros is uniform among those without
    a tie.
    """

    summary = "interleaved streams of bits; the majority of each stream"

    period: AtLeast1 = 3

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of(["0", "1"])

    def lengths(self, low: int, high: int) -> list[int]:
        return [length for length in range(max(low, 1), high + 1) if length % self.period == 0]

    def chance(self, layout: Layout) -> float:
        """One of two for every stream."""
        return 0.5**self.period

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Stream r (from 0) has place r + 2, its answer too; ``<sep>`` has 1."""
        n, period = layout.length, self.period
        streams = [bits_without_tie(rng, n // period, seq.size) for _ in range(period)]
        seq.bos()
        mixed = np.stack(streams, axis=-1).reshape(seq.size, n)
        given = seq.givens(mixed.T + 4, place=np.arange(n) % period + 2)
        seq.sep(place=1)
        for r, stream in enumerate(streams):
            ahead = (2 * stream.sum(axis=1) > n // period).astype(np.int64)
            seq.predicted(ahead + 4, place=r + 2, parents=deciding(given[r::period], letters=2))
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        bits = read("repeats", self.vocab, prompt)
        if len(bits) % self.period:
            raise ValueError(f"the number of bits is not a multiple of {self.period}")
        return [*(leader(bits[r :: self.period]) for r in range(self.period)), EOS]
