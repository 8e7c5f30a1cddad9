"""Multiplication without a scratchpad, with the product least significant digit first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import AtLeast1, DigitBase
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, Vocab
from lengthwise.tasks.arithmetic.digits import DIGITS, carried, digits_of, number
from lengthwise.tasks.base import TASKS, Task


@TASKS.register("multiplication")
class Multiplication(Task):
    """``<bos> 4 1 * 2 1 = 8 6 1 0 <eos>`` is 14 · 12 = 168, least significant digit first, padded to both lengths.

    Length = digits of the first factor; the second one has ``second`` digits, or as many as the first. Digits of one
    significance share a place. A carry can be larger than a digit shows, so that with two long factors each digit of
    the product depends on all digits of at most its significance. With a fixed ``second`` = m of at most ``base`` the
    digit before shows the carry modulo the base, and m + 2 digits of the first factor tell the rest: at most 2m + 3
    tokens at every length.
    """

    summary = "a number of n digits times one of n or of a fixed number of digits"
    place_rule = "next"

    base: DigitBase = 10
    second: AtLeast1 | None = None

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of([*DIGITS[: self.base], "*", "="])

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Place 1 is that of the signs, place i + 2 that of significance i."""
        n, zero = layout.length, self.vocab["0"]
        m = self.second or n
        x = rng.integers(self.base, size=(n, seq.size), dtype=np.int64)
        y = rng.integers(self.base, size=(m, seq.size), dtype=np.int64)
        columns = np.zeros((n + m, seq.size), dtype=np.int64)
        for j in range(m):
            columns[j : j + n] += x * y[j]
        product = carried(columns, self.base)
        seq.bos()
        a = seq.givens(x + zero, np.arange(2, n + 2))
        seq.given(self.vocab["*"], place=1)
        b = seq.givens(y + zero, np.arange(2, m + 2))
        seq.given(self.vocab["="], place=1)
        digit = 0
        for i in range(n + m):
            reached = (self.base**n - 1) * (self.base**m - 1) >= self.base**i
            parents = self._parents(i, a, b, digit) if reached else []
            digit = seq.predicted(product[i] + zero, i + 2, parents)
        seq.eos(place=n + m + 2)

    def _parents(self, i: int, a: list[int], b: list[int], before: int) -> list[int]:
        """What digit i depends on, given the columns of both factors and of the digit ``before``.

        With m digits in the second factor a carry is at most m · (base − 1) − 1. Column i − 1 and its digit show the
        carry into it modulo the base. If carries are smaller than the base, that is all. If not, column i − 2 tells it
        up to less than the base, as the carry into that one is divided by the base (for m <= base).
        """
        m, largest_carry = len(b), len(b) * (self.base - 1) - 1
        window = m if largest_carry == 0 else m + 1 if largest_carry < self.base else m + 2
        if self.second is None or m > self.base or i < window or len(a) <= window:
            return [*a[: i + 1], *b[: i + 1]]
        shown = [before] if largest_carry else []
        top = i == len(a) + m - 1 and largest_carry < self.base
        return [*a[i + 1 - window : i + 1], *(b[-1:] if top else b), *shown]

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Multiply with Python's integers of any size."""
        text = list(prompt[1:-1])
        if prompt[0] != BOS or prompt[-1] != "=" or text.count("*") != 1:
            raise ValueError("not a product of two numbers")
        cut = text.index("*")
        first, second = text[:cut], text[cut + 1 :]
        if not first or len(second) != (self.second or len(first)):
            raise ValueError("the factors do not have the digits that they should have")
        product = number(first, self.base) * number(second, self.base)
        return [*digits_of(product, len(text) - 1, self.base), EOS]


TASKS.alias("multiplication-by-2-digits", {"name": "multiplication", "second": 2})
TASKS.alias("binary-multiplication", {"name": "multiplication", "base": 2})
