"""Subtraction of two numbers, with the answer least significant digit first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import DigitBase
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, Vocab
from lengthwise.tasks.arithmetic.digits import DIGITS, digits_of, number
from lengthwise.tasks.base import TASKS, Task


@TASKS.register("subtraction")
class Subtraction(Task):
    """``<bos> 7 2 - 5 1 = 2 1 <eos>`` is 27 - 15 = 12, least significant digit first; the first number is not smaller.

    Length = digits of each number and of the answer. As in `addition`, digits of one significance share a place and
    each digit depends on five tokens: the borrow into a digit shows in the digits before it.
    """

    summary = "the difference of two numbers of n digits; digits of one significance share a place"
    place_rule = "next"

    base: DigitBase = 10

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of([*DIGITS[: self.base], "-", "="])

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Place 1 is that of the signs, place i + 2 that of significance i."""
        n, zero = layout.length, self.vocab["0"]
        x, y = rng.integers(self.base, size=(2, n, seq.size), dtype=np.int64)
        below = np.zeros(seq.size, dtype=bool)
        for i in range(n):
            below = (x[i] < y[i]) | ((x[i] == y[i]) & below)
        x, y = np.where(below, y, x), np.where(below, x, y)
        places = np.arange(2, n + 2)
        seq.bos()
        a = seq.givens(x + zero, places)
        seq.given(self.vocab["-"], place=1)
        b = seq.givens(y + zero, places)
        seq.given(self.vocab["="], place=1)
        borrow, shown_by = np.zeros(seq.size, dtype=np.int64), []
        for i in range(n):
            left = x[i] - y[i] - borrow
            borrow = (left < 0).astype(np.int64)
            digit = seq.predicted(left + self.base * borrow + zero, place=i + 2, parents=[a[i], b[i], *shown_by])
            shown_by = [a[i], b[i], digit] if i else [a[i], b[i]]
        seq.eos(place=n + 2)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Subtract with Python's integers of any size."""
        text = list(prompt[1:-1])
        half = len(text) // 2
        if prompt[0] != BOS or prompt[-1] != "=" or len(text) % 2 == 0 or text[half] != "-" or half == 0:
            raise ValueError("not a subtraction of two numbers of one length")
        left = number(text[:half], self.base) - number(text[half + 1 :], self.base)
        if left < 0:
            raise ValueError("the first number is smaller than the second one")
        return [*digits_of(left, half, self.base), EOS]
