"""Parity with the running parity as scratchpad (after Golowich et al. 2025 and Cho et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, Vocab
from lengthwise.tasks.base import TASKS, Task

END_MARK = "#"


@TASKS.register("parity-scratchpad")
class ParityScratchpad(Task):
    """``<bos> 1 0 1 1 = 1 1 0 1 <eos>``: after ``=`` the parity of the bits read so far; the last one is the answer.

    Length = number of bits. Bit i and the running parity *before* it share a place (``=`` shares that of the first
    bit), so the bit that the next token needs is always at the current place, and the place goes up by one per token.

    With ``end_mark`` a ``#`` follows the bits, at the place where the trace ends: there is then a token at the current
    place in every step, and the end need not be known by the *absence* of one.
    """

    summary = "running parity of n bits, one bit per step"
    place_rule = "next"
    first_bit: ClassVar[int] = 1
    """Place of the first bit; ``=`` has place 1 and the first running parity 2."""

    end_mark: bool = False

    @cached_property
    def vocab(self) -> Vocab:
        """Bits, ``=`` and, if the end is marked, ``#``."""
        return Vocab.of(["0", "1", "=", *([END_MARK] if self.end_mark else [])])

    def chance(self, layout: Layout) -> float:
        """The last token is one of two; the whole trace is not guessed."""
        return 0.5

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Bit i (from 1) has place i (with offset one i + 1), ``=`` 1, running parity i place i + 1."""
        n, zero, first = layout.length, self.vocab["0"], self.first_bit
        bits = rng.integers(2, size=(n, seq.size), dtype=np.int64)
        running = np.bitwise_xor.accumulate(bits, axis=0)
        seq.bos()
        given = seq.givens(bits + zero, place=np.arange(n) + first)
        marks = [seq.given(self.vocab[END_MARK], place=n + first)] if self.end_mark else []
        seq.given(self.vocab["="], place=1)
        before: list[int] = []
        for i in range(n):
            parity = seq.predicted(running[i] + zero, i + 2, parents=[given[i], *before], answer=i == n - 1)
            before = [parity]
        seq.eos(place=n + 2, selectors=marks)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Count the ones of every prefix."""
        ending = [END_MARK, "="] if self.end_mark else ["="]
        bits = list(prompt[1 : -len(ending)])
        if not bits or prompt[0] != BOS or list(prompt[-len(ending) :]) != ending or not set(bits) <= {"0", "1"}:
            raise ValueError("not a string of bits followed by =")
        return [*(str(bits[: i + 1].count("1") % 2) for i in range(len(bits))), EOS]


@TASKS.register("parity-scratchpad-offset-one")
class OffsetOneParityScratchpad(ParityScratchpad):
    """`ParityScratchpad` with the other places of Cho et al. 2024's public code: bit i has place i + 1, not i.

    The bit that the next token needs is one place above the current one, and no token that predicts from it shares
    its place. Only the places of the bits (and of the end mark) differ.
    """

    # A task of its own rather than a field: a field would change the name of every result of the other one.
    summary = "running parity of n bits, places as published: a bit is one above the token that predicts from it"
    first_bit = 2
