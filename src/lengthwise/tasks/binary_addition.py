"""Binary addition of two numbers of any lengths, most significant digit first (format of Huang et al. 2025)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, Vocab
from lengthwise.tasks.base import TASKS, Task


@dataclass(frozen=True)
class Operands(Layout):
    """How many digits each operand has, and whether the sum has one more than the longer of them."""

    first: int
    second: int
    carry: bool

    @property
    def longer(self) -> int:
        """Digits of the longer operand."""
        return max(self.first, self.second)


@TASKS.register("binary-addition")
class BinaryAddition(Task):
    """``<bos> 1 0 1 + 1 1 = 1 0 0 0 <eos>`` is 5 + 3 = 8, most significant digit first, no padding.

    Length = characters of ``x+y=``; the first operand has 1 to length − 3 digits, uniformly. There is no leading zero
    except in the number 0. A digit of the sum depends on all digits of its significance and below, through the carry;
    which ones these are depends on whether the sum has an extra digit, so all digits are selectors.
    """

    summary = "two binary numbers of any lengths, most significant digit first, no padding"
    min_length = 4

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of(["0", "1", "+", "="])

    def layout(self, length: int, rng: Rng) -> Operands:
        """Whether there is an extra digit is drawn with its exact probability."""
        first = int(rng.integers(1, length - 2))
        second = length - 2 - first
        return Operands(length, first, second, bool(rng.random() < extra_digit_chance(first, second)))

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Significance i (from 0) has place i + 1; the operators have the place of a possible extra digit."""
        assert isinstance(layout, Operands)
        x, y, total = _draw(layout, seq.size, rng)
        zero, top = self.vocab["0"], layout.longer + 1
        seq.bos()
        a = {i: seq.given(x[i] + zero, place=i + 1) for i in reversed(range(layout.first))}
        seq.given(self.vocab["+"], place=top)
        b = {i: seq.given(y[i] + zero, place=i + 1) for i in reversed(range(layout.second))}
        seq.given(self.vocab["="], place=top)
        digits = [*a.values(), *b.values()]
        for operand, size in ((a, layout.first), (b, layout.second)):
            # A number of several digits starts with 1, so its first digit decides nothing.
            if size > 1:
                del operand[size - 1]
        for i in reversed(range(layout.longer + layout.carry)):
            below = [operand[j] for operand in (a, b) for j in operand if j <= i]
            parents = [] if _is_constant(layout, i) else below
            seq.predicted(total[i] + zero, place=i + 1, parents=parents, selectors=digits)
        seq.eos(selectors=digits)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        first, plus, second = "".join(prompt[1:-1]).partition("+")
        if prompt[0] != BOS or prompt[-1] != "=" or not plus:
            raise ValueError("not a sum of two numbers")
        for number in (first, second):
            if not number or not set(number) <= {"0", "1"} or (len(number) > 1 and number[0] == "0"):
                raise ValueError(f"not a binary number without leading zeros: {number!r}")
        return [*f"{int(first, 2) + int(second, 2):b}", EOS]


def extra_digit_chance(first: int, second: int) -> float:
    """Probability that the sum of uniform operands of these lengths has a digit more than the longer one."""
    return _chances(Operands(first + second + 2, first, second, carry=True))[0][0]


def _is_constant(layout: Operands, i: int) -> bool:
    """Whether the digit of significance i of the sum is the same for all operands of this layout."""
    long, short = layout.longer, min(layout.first, layout.second)
    if layout.carry:
        # An extra digit needs ones all the way up from where the shorter operand ends; one digit each: 1 + 1.
        return i >= (long if short == long > 1 else 0 if short == 1 else short)
    if long == short:
        return False
    # Without extra digit the top digit stays 1, and two top digits next to each other can't make it carry.
    return i == long - 1 or (long == short + 1 > 2 and i == short - 1)


def _digit_choices(layout: Operands, i: int) -> list[tuple[int, int]]:
    """The pairs of digits that significance i allows; all are equally likely."""

    def choices(size: int) -> tuple[int, ...]:
        if i >= size:
            return (0,)
        return (1,) if i == size - 1 and size > 1 else (0, 1)

    return [(x, y) for x in choices(layout.first) for y in choices(layout.second)]


def _chances(layout: Operands) -> list[list[float]]:
    """``[i][c]``: probability that the extra digit is as the layout says, given carry c into significance i."""
    chances = [[float(not layout.carry), float(layout.carry)]]
    for i in reversed(range(layout.longer)):
        pairs = _digit_choices(layout, i)
        chances.append([sum(chances[-1][x + y + c >= 2] for x, y in pairs) / len(pairs) for c in (0, 1)])
    return chances[::-1]


def _draw(layout: Operands, rows: int, rng: Rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Operands that fit the layout, uniformly, and their sums: digits by significance, then rows.

    Digits are drawn from the lowest up, each pair weighted by the chance that the rest still fits.
    """
    after = _chances(layout)
    x, y, total = np.zeros((3, layout.longer + 1, rows), dtype=np.int64)
    carry = np.zeros(rows, dtype=np.int64)
    for i in range(layout.longer):
        pairs = np.array(_digit_choices(layout, i))
        weights = np.array([[after[i + 1][int(a + b + c >= 2)] for a, b in pairs] for c in (0, 1)])
        # A carry that can't fit never happens; its weights are all zero.
        bounds = np.cumsum(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300), axis=1)
        pick = (rng.random(rows)[:, None] >= bounds[carry, :-1]).sum(axis=1)
        x[i], y[i] = pairs[pick].T
        carry, total[i] = np.divmod(x[i] + y[i] + carry, 2)
    total[-1] = carry
    return x, y, total
