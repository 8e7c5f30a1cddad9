"""Addition of several numbers with the running sums as scratchpad, on two levels of places (after Cho et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS, Vocab
from lengthwise.tasks.arithmetic.digits import DIGITS, carried, digits_of, number
from lengthwise.tasks.arithmetic.multi_operand import MultiOperandAddition, SumLayout, extra_digits, read_operands
from lengthwise.tasks.base import TASKS


@TASKS.register("addition-running-sums")
class RunningSums(MultiOperandAddition):
    """``<bos> 1 2 0 + 3 1 0 = 0 0 0 > 1 2 0 > 4 3 0 <eos>`` is 21 + 13: the sums 0, 21 and 34, last digit first.

    Length as in `addition-multi`; all numbers are padded to the digits of the largest sum. On the first level of places
    digits of one significance share a place; on the second, operand j shares one with the sum before it. A digit of a
    sum depends on the digits of the operand and of the sum before it, and on the digits before those: at most five
    tokens, however long and many the numbers are.
    """

    summary = "the sum of several numbers with the running sums written out; two levels of places"
    place_rule = "earlier"

    @property
    def levels(self) -> tuple[LevelKind, ...]:
        """The significance, and the number."""
        return ("position", "position")

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of([*DIGITS[: self.base], "+", "=", ">"])

    def max_length(self) -> int | None:
        """A sum of two numbers has no large carry."""
        return None

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Operand j (from 1) has place j on the second level, sum j has j + 1 with the ``>`` before it, ``=`` m + 1."""
        assert isinstance(layout, SumLayout)
        n, m, zero = layout.digits, layout.operands, self.vocab["0"]
        numbers = rng.integers(self.base, size=(m, n, seq.size), dtype=np.int64)
        width = n + extra_digits(m, self.base)
        seq.bos()
        given = []
        for j in range(m):
            padded = [*numbers[j], *([0] * (width - n))]
            given.append([seq.given(digit + zero, place=(i + 2, j + 1)) for i, digit in enumerate(padded)])
            seq.given(self.vocab["+" if j < m - 1 else "="], place=(1, j + 1 if j < m - 1 else m + 1))
        before = [seq.predicted(zero, place=(i + 2, 1), answer=False) for i in range(width)]
        total = np.zeros((width, seq.size), dtype=np.int64)
        for j in range(1, m + 1):
            total[:n] += numbers[j - 1]
            total = carried(total, self.base)
            seq.predicted(self.vocab[">"], place=(1, j + 1), answer=False)
            sums: list[int] = []
            for i in range(width):
                parents = _parents(
                    given[j - 1][:n], before, sums, reach=((j - 1) * (self.base**n - 1), i, j, self.base)
                )
                sums.append(seq.predicted(total[i] + zero, (i + 2, j + 1), parents, answer=j == m))
            before = sums
        seq.eos(place=(1, m + 1))

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Add one number after the other with Python's integers."""
        numbers = read_operands(prompt)
        width = len(numbers[0])
        total, trace = 0, ["0"] * width
        for text in numbers:
            total += number(text, self.base)
            trace += [">", *digits_of(total, width, self.base)]
        return [*trace, EOS]


def _parents(operand: list[int], before: list[int], sums: list[int], reach: tuple[int, int, int, int]) -> list[int]:
    """What digit i of the sum after operand j depends on; ``reach`` holds the largest sum before it, i, j and the base.

    Digits that are 0 in every string of the layout play no part.
    """
    largest, i, j, base = reach
    n = len(operand)
    if largest + base**n - 1 < base**i:
        return []
    own = [*([operand[i]] if i < n else []), *([before[i]] if largest >= base**i else [])]
    if j == 1 or i == 0:
        return own
    carry = [*([operand[i - 1]] if i <= n else []), *([before[i - 1]] if largest >= base ** (i - 1) else [])]
    return [*own, *carry, *([sums[i - 1]] if i > 1 else [])]
