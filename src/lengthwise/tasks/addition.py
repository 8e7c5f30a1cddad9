"""Addition of two numbers, with the answer least significant digit first (after Cho et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import DigitBase
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, Vocab
from lengthwise.tasks.base import TASKS, Task


@TASKS.register("addition")
class Addition(Task):
    """``<bos> 7 2 + 5 4 = 2 7 0 <eos>`` is 27 + 45 = 72, least significant digit first, zero-padded to length + 1.

    Length = digits of each operand. Digits of one significance share a place. The carry into a digit shows in the
    digit before it, so each digit of the sum depends on five tokens, however long the numbers are.
    """

    summary = "two numbers of n digits; digits of one significance share a place"
    place_rule = "next"

    base: DigitBase = 10
    operands: Literal["lsd_first", "msd_first"] = "lsd_first"

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of([*"0123456789abcdefghijklmnopqrstuvwxyz"[: self.base], "+", "="])

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Place 1 is the operators', place i + 2 that of significance i."""
        n, zero = layout.length, self.vocab["0"]
        order = slice(None) if self.operands == "lsd_first" else slice(None, None, -1)
        places = np.arange(2, n + 2)[order]
        x, y = rng.integers(self.base, size=(2, n, seq.size), dtype=np.int64)
        seq.bos()
        a = seq.givens(x[order] + zero, places)[order]
        seq.given(self.vocab["+"], place=1)
        b = seq.givens(y[order] + zero, places)[order]
        seq.given(self.vocab["="], place=1)
        carry, carried_by = np.zeros(seq.size, dtype=np.int64), []
        for i in range(n):
            total = x[i] + y[i] + carry
            carry = (total >= self.base).astype(np.int64)
            digit = seq.predicted(total - self.base * carry + zero, place=i + 2, parents=[a[i], b[i], *carried_by])
            # Both digits and their sum show the carry that came in, hence the one that goes out; none comes into i = 0.
            carried_by = [a[i], b[i], digit] if i else [a[i], b[i]]
        seq.predicted(carry + zero, place=n + 2, parents=carried_by)
        seq.eos(place=n + 3)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Add with Python's integers of any size."""
        text = "".join(prompt[1:])
        first, plus, second = text.rstrip("=").partition("+")
        if prompt[0] != BOS or not plus or prompt[-1] != "=" or len(first) != len(second):
            raise ValueError("not an addition of two numbers of one length")
        if self.operands == "lsd_first":
            first, second = first[::-1], second[::-1]
        total = _from_digits(first, self.base) + _from_digits(second, self.base)
        digits = []
        for _ in range(len(first) + 1):
            total, digit = divmod(total, self.base)
            digits.append(self.vocab.tokens[self.vocab["0"] + digit])
        return [*digits, EOS]


def _from_digits(text: str, base: int) -> int:
    value = 0
    for digit in text:
        value = value * base + int(digit, base)
    return value
