"""Addition of several numbers, with and without running sums (after Cho et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import DigitBase
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, Vocab
from lengthwise.tasks.arithmetic.digits import DIGITS, carried, digits_of, number
from lengthwise.tasks.base import TASKS, Task


@dataclass(frozen=True)
class SumLayout(Layout):
    """So many ``operands`` of so many ``digits``; the length is the larger of the two."""

    digits: int
    operands: int

    @property
    def axes(self) -> dict[str, int]:
        """Digits and operands."""
        return {"digits": self.digits, "operands": self.operands}


def extra_digits(operands: int, base: int) -> int:
    """How many digits a sum of so many numbers can have more than they have."""
    extra = 0
    while base**extra < operands:
        extra += 1
    return extra


@TASKS.register("addition-multi")
class MultiOperandAddition(Task):
    """``<bos> 8 8 + 3 9 + 8 8 = 9 6 2 <eos>`` is 88 + 93 + 88 = 269, least significant digit first.

    Length = the larger of digits and operands; training draws the smaller one, tests have as many operands as digits.
    Digits of one significance share a place. There are at most ``base`` operands, so that a carry is smaller than the
    base and shows in the column before.
    """

    summary = "the sum of several numbers; digits of one significance share a place"
    place_rule = "next"
    min_length = 2

    base: DigitBase = 10

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of([*DIGITS[: self.base], "+", "="])

    def max_length(self) -> int | None:
        """More operands than the base would hide a carry."""
        return self.base

    def layout(self, length: int, rng: Rng) -> SumLayout:
        """Half of the time as many operands as digits, otherwise one of the two is smaller."""
        other = int(rng.integers(2, length + 1))
        shape = int(rng.integers(4))
        return SumLayout(length, length if shape < 3 else max(1, other - 1), length if shape != 2 else other)

    def test_layouts(self, length: int) -> list[Layout]:
        """As many operands as digits."""
        return [SumLayout(length, length, length)]

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Place 1 is that of the signs, place i + 2 that of significance i."""
        assert isinstance(layout, SumLayout)
        n, m, zero = layout.digits, layout.operands, self.vocab["0"]
        numbers = rng.integers(self.base, size=(m, n, seq.size), dtype=np.int64)
        extra = extra_digits(m, self.base)
        columns = np.concatenate([numbers.sum(axis=0), np.zeros((extra, seq.size), dtype=np.int64)])
        total = carried(columns, self.base)
        seq.bos()
        given = []
        for j in range(m):
            given.append(seq.givens(numbers[j] + zero, np.arange(2, n + 2)))
            seq.given(self.vocab["+" if j < m - 1 else "="], place=1)
        carried_by: list[int] = []
        for i in range(n + extra):
            own = [operand[i] for operand in given] if i < n else []
            reached = m * (self.base**n - 1) >= self.base**i
            digit = seq.predicted(total[i] + zero, place=i + 2, parents=[*own, *carried_by] if reached else [])
            carried_by = [*own, digit] if i else own
        seq.eos(place=n + extra + 2)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Add with Python's integers of any size."""
        numbers = read_operands(prompt)
        total = sum(number(text, self.base) for text in numbers)
        return [*digits_of(total, len(numbers[0]) + extra_digits(len(numbers), self.base), self.base), EOS]


def read_operands(prompt: Sequence[str]) -> list[list[str]]:
    """The digits of each operand of ``<bos> a + b + c =``; raises `ValueError` for any other prompt."""
    if len(prompt) < 5 or prompt[0] != BOS or prompt[-1] != "=":
        raise ValueError("not a sum")
    numbers: list[list[str]] = [[]]
    for token in prompt[1:-1]:
        if token == "+":
            numbers.append([])
        else:
            numbers[-1].append(token)
    if len(numbers) < 2 or not numbers[0] or len({len(text) for text in numbers}) > 1:
        raise ValueError("not at least two numbers of one length")
    return numbers
