"""Parity without a scratchpad, the control task that no transformer is expected to extend to longer inputs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, SEP, Vocab
from lengthwise.tasks.base import TASKS, Task
from lengthwise.tasks.sampling import bits_with_ones


@TASKS.register("parity")
class Parity(Task):
    """``<bos> 1 0 1 1 <sep> o <eos>``: ``e`` if the number of ones is even, ``o`` if it is odd.

    Length = number of bits. ``ones="iid"`` draws fair bits: a model that counts roughly gains nothing. ``"uniform"``
    draws the number of ones uniformly and shuffles, and then allows length 0 (the format of Huang et al. 2025). The
    answer depends on every bit.
    """

    summary = "is the number of ones even or odd? every bit matters (the control)"

    ones: Literal["iid", "uniform"] = "iid"

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of(["0", "1", "e", "o"])

    def lengths(self, low: int, high: int) -> list[int]:
        """Length 0 exists where the number of ones is drawn first."""
        return list(range(max(low, 0 if self.ones == "uniform" else 1), high + 1))

    def chance(self, layout: Layout) -> float:
        return 0.5

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """All bits share place 1 with the answer; the separator has place 2."""
        n = layout.length
        if self.ones == "iid":
            bits = rng.integers(2, size=(seq.size, n), dtype=np.int64)
        else:
            bits = bits_with_ones(rng, n, rng.integers(n + 1, size=seq.size, dtype=np.int64))
        seq.bos()
        given = seq.givens(bits.T + self.vocab["0"], place=1)
        seq.sep(place=2 if n else 0)
        seq.predicted(bits.sum(axis=1) % 2 + self.vocab["e"], place=1 if n else 0, parents=given)
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Flip a switch at every one."""
        if len(prompt) < 2 or prompt[0] != BOS or prompt[-1] != SEP or not set(prompt[1:-1]) <= {"0", "1"}:
            raise ValueError("not a string of bits")
        odd = False
        for bit in prompt[1:-1]:
            odd ^= bit == "1"
        return ["o" if odd else "e", EOS]
