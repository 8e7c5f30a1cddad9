"""Multiplication, with one short factor and with a scratchpad."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import AtLeast1, DigitBase
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, Vocab
from lengthwise.tasks.addition import DIGITS, carried, digits_of, number, write_numbers
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
        a, b = write_numbers(seq, (x, y), "*=")
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


@dataclass(frozen=True)
class Factors(Layout):
    """The digits of the two factors; the length is the larger of the two."""

    first: int
    second: int

    @property
    def axes(self) -> dict[str, int]:
        """Digits of each factor."""
        return {"first": self.first, "second": self.second}


@TASKS.register("multiplication-scratchpad")
class LongMultiplication(Task):
    """``<bos> 2 1 0 0 * 3 1 = 6 3 0 + 2 1 0 = 6 3 0 0 > 6 5 1 0 <eos>`` is 12 · 13: 36 and 12, then 36 and 156.

    All numbers have their last digit first; the first factor is padded to the digits of the product. Length = the
    larger number of digits of the two factors. After ``=`` come the products with each digit of the second factor, then
    their running sums. Levels of places (after Cho et al. 2024): the significance within the first factor and a partial
    product; the digit of the second factor; the significance within the product. Every token depends on at most five.
    """

    summary = "the product of two numbers with partial products and running sums; three levels of places"

    base: DigitBase = 10

    def __post_init__(self) -> None:
        if self.base < 3:
            raise ValueError(
                f"base must be 3 or more, for partial products without carries are no task, got {self.base}"
            )

    @property
    def levels(self) -> tuple[LevelKind, ...]:
        """Significance in a partial product, number of the partial product, significance in the product."""
        return ("position", "position", "position")

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of([*DIGITS[: self.base], "*", "=", "+", ">"])

    def layout(self, length: int, rng: Rng) -> Factors:
        other, shape = int(rng.integers(1, length + 1)), int(rng.integers(4))
        return Factors(length, other if shape == 3 else length, other if shape == 2 else length)

    def test_layouts(self, length: int) -> list[Layout]:
        return [Factors(length, length, length)]

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Significance i has place i + 2 and digit j of the second factor (from 0) place j + 1; signs as published."""
        assert isinstance(layout, Factors)
        n, m, zero = layout.first, layout.second, self.vocab["0"]
        x = rng.integers(self.base, size=(n, seq.size), dtype=np.int64)
        y = rng.integers(self.base, size=(m, seq.size), dtype=np.int64)
        seq.bos()
        a = [seq.given((x[i] if i < n else 0) + zero, place=(i + 2, 0, i + 2)) for i in range(n + m)]
        seq.given(self.vocab["*"])
        b = [seq.given(y[j] + zero, place=(0, j + 1, 0)) for j in range(m)]
        seq.given(self.vocab["="], place=(1, 1, 1))
        products, partial = [], []
        for j in range(m):
            if j:
                seq.predicted(self.vocab["+"], place=(1, j + 1, j + 1), answer=False)
            digits = carried(np.concatenate([x * y[j], np.zeros((1, seq.size), dtype=np.int64)]), self.base)
            columns: list[int] = []
            for i in range(n + 1):
                own = [*([a[i]] if i < n else []), b[j], *([a[i - 1]] if i else []), *columns[max(i - 1, 1) : i]]
                columns.append(seq.predicted(digits[i] + zero, (i + 2, j + 1, i + j + 2), own, answer=False))
            products.append(digits)
            partial.append(columns)
        total, before = np.zeros((n + m, seq.size), dtype=np.int64), list[int]()
        for j in range(m):
            seq.predicted(self.vocab["=" if j == 0 else ">"], place=(0, j + 1, 1), answer=False)
            total[j : j + n + 1] += products[j]
            total = carried(total, self.base)
            sums: list[int] = []
            for i in range(n + m):
                parents = _parents(partial[j], before, sums, (i, j))
                sums.append(seq.predicted(total[i] + zero, (0, j + 1, i + 2), parents, answer=j == m - 1))
            before = sums
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        text = list(prompt[1:-1])
        if prompt[0] != BOS or prompt[-1] != "=" or text.count("*") != 1:
            raise ValueError("not a product of two numbers")
        width, second = text.index("*"), text[text.index("*") + 1 :]
        n = width - len(second)
        if n < 1 or not second:
            raise ValueError("the first factor is not padded to the digits of the product")
        first = number(text[:width], self.base)
        products = [first * number([digit], self.base) for digit in second]
        trace: list[str] = []
        for j, product in enumerate(products):
            trace += [*(["+"] if j else []), *digits_of(product, n + 1, self.base)]
        total = 0
        for j, product in enumerate(products):
            total += product * self.base**j
            trace += [">" if j else "=", *digits_of(total, width, self.base)]
        return [*trace, EOS]


def _parents(partial: list[int], before: list[int], sums: list[int], at: tuple[int, int]) -> list[int]:
    """What digit i of running sum j depends on, for ``at`` = (i, j): two digits, and two or three that show the carry.

    Digits that are 0 in every string of the layout play no part.
    """
    i, j = at
    size = len(partial)

    def column(k: int, most: int) -> list[int]:
        return [*(before[k : k + 1] if k < most else []), *(partial[k - j : k - j + 1] if k >= j else [])]

    if i >= size + j:
        return []
    if not before or i <= j:
        return column(i, size + j - 1)
    if i == j + 1:
        return [*column(i, size + j - 1), *column(i - 1, size + j - 1)]
    # The first digit of a partial product is at most base - 2, so that the sum shows its carry without it.
    carrying = column(i - 1, size + j - 1 - (j == 1))
    return [*column(i, size + j - 1), *carrying, sums[i - 1]]
