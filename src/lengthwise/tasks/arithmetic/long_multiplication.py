"""Multiplication with partial products and their running sums written out, on three levels of places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import DigitBase
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, Vocab
from lengthwise.tasks.arithmetic.digits import DIGITS, carried, digits_of, number
from lengthwise.tasks.base import TASKS, Task


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
        """Half of the time as many digits in both factors, otherwise fewer in one."""
        other, shape = int(rng.integers(1, length + 1)), int(rng.integers(4))
        return Factors(length, other if shape == 3 else length, other if shape == 2 else length)

    def test_layouts(self, length: int) -> list[Layout]:
        """As many digits in both factors."""
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
        """Multiply digit by digit with Python's integers of any size."""
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
