"""Addition and its relatives: subtraction, many operands, hints, a Turing program, running sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import Alphabet2, DigitBase
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, Vocab
from lengthwise.tasks.base import TASKS, Task

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def write_numbers(
    seq: SequenceBuilder, numbers: Sequence[np.ndarray], signs: str, *, msd_first: bool = False
) -> list[list[int]]:
    """Write ``<bos>`` and each number ``[digits, B]``, least significant digit first, with its sign behind it.

    The digit of significance i has place i + 2, a sign has 1. With ``msd_first`` the tokens come in the other order.
    Returns the positions of each number's digits, least significant first.
    """
    order = slice(None, None, -1 if msd_first else None)
    seq.bos()
    found = []
    for digits, sign in zip(numbers, signs, strict=True):
        places = np.arange(2, len(digits) + 2)
        found.append(seq.givens(digits[order] + seq.vocab["0"], places[order])[order])
        seq.given(seq.vocab[sign], place=1)
    return found


def read_numbers(prompt: Sequence[str], sign: str, what: str, *, end: str = "=", count: int = 0) -> list[list[str]]:
    """The digits of ``count`` numbers of one length (0: two or more), as in ``<bos> a + b + c =``.

    Raises `ValueError` for a prompt that is not ``what``.
    """
    numbers = [text.split() for text in " ".join(prompt[1:-1]).split(f" {sign} ")]
    sizes = {len(text) for text in numbers}
    right = len(numbers) == count if count else len(numbers) > 1
    if prompt[0] != BOS or prompt[-1] != end or not right or len(sizes) > 1 or 0 in sizes:
        raise ValueError(f"not {what}")
    return numbers


def number(text: Sequence[str], base: int) -> int:
    """The number with these digits, least significant first; raises `ValueError` for anything else."""
    value = 0
    for digit in reversed(text):
        if digit not in DIGITS[:base] or len(digit) != 1:
            raise ValueError(f"{digit!r} is no digit of base {base}")
        value = value * base + DIGITS.index(digit)
    return value


def digits_of(value: int, count: int, base: int) -> list[str]:
    """``count`` digits of a number, least significant first; raises `ValueError` if it has more."""
    found = []
    for _ in range(count):
        value, digit = divmod(value, base)
        found.append(DIGITS[digit])
    if value:
        raise ValueError(f"the number has more than {count} digits")
    return found


def carried(columns: np.ndarray, base: int) -> np.ndarray:
    """Digits of numbers whose columns ``[n, B]`` may exceed the base; what overflows at the end is lost."""
    result = np.empty_like(columns)
    carry = np.zeros(columns.shape[1], dtype=columns.dtype)
    for i, column in enumerate(columns):
        carry, result[i] = np.divmod(column + carry, base)
    return result


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
        return Vocab.of([*DIGITS[: self.base], "+", "="])

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Place 1 is the operators', place i + 2 that of significance i."""
        n, zero = layout.length, self.vocab["0"]
        x, y = rng.integers(self.base, size=(2, n, seq.size), dtype=np.int64)
        a, b = write_numbers(seq, (x, y), "+=", msd_first=self.operands == "msd_first")
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
        numbers = read_numbers(prompt, "+", "an addition of two numbers of one length", count=2)
        first, second = (text if self.operands == "lsd_first" else text[::-1] for text in numbers)
        return [*digits_of(number(first, self.base) + number(second, self.base), len(first) + 1, self.base), EOS]


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
    fixed_vocab = ("0", "1", "+", "=")
    min_length = 4

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
        a, b = write_numbers(seq, (x, y), "-=")
        borrow, shown_by = np.zeros(seq.size, dtype=np.int64), []
        for i in range(n):
            left = x[i] - y[i] - borrow
            borrow = (left < 0).astype(np.int64)
            digit = seq.predicted(left + self.base * borrow + zero, place=i + 2, parents=[a[i], b[i], *shown_by])
            shown_by = [a[i], b[i], digit] if i else [a[i], b[i]]
        seq.eos(place=n + 2)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        first, second = read_numbers(prompt, "-", "a subtraction of two numbers of one length", count=2)
        left = number(first, self.base) - number(second, self.base)
        if left < 0:
            raise ValueError("the first number is smaller than the second one")
        return [*digits_of(left, len(first), self.base), EOS]


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
        other = int(rng.integers(2, length + 1))
        shape = int(rng.integers(4))
        return SumLayout(length, length if shape < 3 else max(1, other - 1), length if shape != 2 else other)

    def test_layouts(self, length: int) -> list[Layout]:
        return [SumLayout(length, length, length)]

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Place 1 is that of the signs, place i + 2 that of significance i."""
        assert isinstance(layout, SumLayout)
        n, m, zero = layout.digits, layout.operands, self.vocab["0"]
        numbers = rng.integers(self.base, size=(m, n, seq.size), dtype=np.int64)
        extra = extra_digits(m, self.base)
        columns = np.concatenate([numbers.sum(axis=0), np.zeros((extra, seq.size), dtype=np.int64)])
        total = carried(columns, self.base)
        given = write_numbers(seq, list(numbers), "+" * (m - 1) + "=")
        carried_by: list[int] = []
        for i in range(n + extra):
            own = [operand[i] for operand in given] if i < n else []
            reached = m * (self.base**n - 1) >= self.base**i
            digit = seq.predicted(total[i] + zero, place=i + 2, parents=[*own, *carried_by] if reached else [])
            carried_by = [*own, digit] if i else own
        seq.eos(place=n + extra + 2)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        numbers = read_numbers(prompt, "+", "a sum of two or more numbers of one length")
        total = sum(number(text, self.base) for text in numbers)
        return [*digits_of(total, len(numbers[0]) + extra_digits(len(numbers), self.base), self.base), EOS]


@TASKS.register("addition-hinted")
class HintedAddition(Task):
    """``<bos> i4 7 i5 2 + i4 5 i5 4 = i4 2 i5 7 i6 0 <eos>``: addition with a hint before every digit.

    Length = digits of each operand. Digits of one significance share a hint, and the hints are consecutive from a
    random start, so that all ``hints`` of them are met on short numbers. Hint and digit also share a place, as in
    `addition`.
    """

    summary = "addition in which a hint before every digit names its significance"
    place_rule = "next"

    base: DigitBase = 10
    hints: Alphabet2 = 128

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of([*DIGITS[: self.base], "+", "=", *(f"i{hint}" for hint in range(self.hints))])

    def max_length(self) -> int:
        """One hint is for the last carry."""
        return self.hints - 1

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Place 1 is that of the signs, place i + 2 that of significance i and its hints."""
        n, zero = layout.length, self.vocab["0"]
        x, y = rng.integers(self.base, size=(2, n, seq.size), dtype=np.int64)
        start = rng.integers(self.hints - n, size=seq.size, dtype=np.int64) + self.vocab["i0"]
        seq.bos()
        given = []
        for operand, sign in ((x, "+"), (y, "=")):
            columns = []
            for i in range(n):
                hint = seq.given(start + i, place=i + 2)
                columns.append((hint, seq.given(operand[i] + zero, place=i + 2)))
            given.append(columns)
            seq.given(self.vocab[sign], place=1)
        first, second = given
        total = carried(np.concatenate([x + y, np.zeros((1, seq.size), dtype=np.int64)]), self.base)
        carried_by: list[int] = []
        for i in range(n + 1):
            seq.predicted(start + i, place=i + 2, parents=[first[min(i, n - 1)][0]])
            own = [first[i][1], second[i][1]] if i < n else []
            digit = seq.predicted(total[i] + zero, place=i + 2, parents=[*own, *carried_by])
            carried_by = [*own, digit] if i else own
        seq.eos(place=n + 3)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        text = list(prompt[1:-1])
        half = len(text) // 2
        n = half // 2
        if prompt[0] != BOS or prompt[-1] != "=" or len(text) != 4 * n + 1 or n == 0 or text[half] != "+":
            raise ValueError("not an addition of two numbers of one length with hints")
        names = self.vocab.tokens[self.vocab["i0"] :]
        start = names.index(text[0]) if text[0] in names else -1
        hints = list(names[start : start + n + 1])
        if start < 0 or len(hints) <= n or not text[0:half:2] == text[half + 1 :: 2] == hints[:n]:
            raise ValueError("the hints are not consecutive, or differ between the numbers")
        total = number(text[1:half:2], self.base) + number(text[half + 2 :: 2], self.base)
        pairs = zip(hints, digits_of(total, n + 1, self.base), strict=True)
        return [*(token for pair in pairs for token in pair), EOS]


@TASKS.register("addition-turing")
class TuringAddition(Task):
    """``<bos> 2 7 + 4 5 | 2 7' + 4 5' ( 1 2 | 2' + 4' ( 0 7 2 | 0 7 2 <eos>`` is 27 + 45 = 072.

    Length = digits of each operand, most significant first. A step writes the tape again without the digits that were
    read before it, marks the next digit of each operand as read (``7'``), and writes ``(``, the carry and the sum so
    far. A copied token has one parent; a new digit of the sum and the carry have three. Digits of one significance
    share a place.
    """

    summary = "addition by a Turing program: a scratchpad of whole tapes"

    base: DigitBase = 10

    @cached_property
    def vocab(self) -> Vocab:
        digits = DIGITS[: self.base]
        return Vocab.of([*digits, *(f"{digit}'" for digit in digits), "+", "|", "("])

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Place 1 is that of the signs, place i + 2 that of significance i; a carry has that of the sum's digit."""
        n, zero, read = layout.length, self.vocab["0"], self.vocab["0'"]
        x = rng.integers(self.base, size=(2, n, seq.size), dtype=np.int64)
        total = carried(x[0] + x[1], self.base)
        seq.bos()
        tape = []
        for operand, sign in zip(x, "+|", strict=True):
            tape.append({i: seq.given(operand[i] + zero, place=i + 2) for i in reversed(range(n))})
            seq.given(self.vocab[sign], place=1)
        written: dict[int, int] = {}
        carried_by: list[int] = []
        carry = np.zeros(seq.size, dtype=np.int64)
        for now in range(n):
            heads = []
            for which, sign in enumerate("+("):
                for i in range(n - 1, now, -1):
                    tape[which][i] = seq.predicted(x[which, i] + zero, i + 2, [tape[which][i]], answer=False)
                heads.append(seq.predicted(x[which, now] + read, now + 2, [tape[which][now]], answer=False))
                seq.predicted(self.vocab[sign], place=1, answer=False)
            parents = [*heads, *carried_by]
            carry = (x[0, now] + x[1, now] + carry) // self.base
            carried_by = [seq.predicted(carry + zero, now + 2, parents, answer=False)]
            new = seq.predicted(total[now] + zero, now + 2, parents, answer=False)
            written = {i: seq.predicted(total[i] + zero, i + 2, [at], answer=False) for i, at in written.items()}
            written = {now: new, **written}
            seq.predicted(self.vocab["|"], place=1, answer=False)
        seq.predicted(carry + zero, n + 1, carried_by)
        for i, at in written.items():
            seq.predicted(total[i] + zero, i + 2, [at])
        seq.eos(place=1)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        first, second = read_numbers(prompt, "+", "an addition of two numbers of one length", end="|", count=2)
        n = len(first)
        steps: list[str] = []
        for now in range(1, n + 1):
            parts = [number(operand[-now:][::-1], self.base) for operand in (first, second)]
            carry, low = divmod(sum(parts), self.base**now)
            left = [[*operand[: n - now], f"{operand[n - now]}'"] for operand in (first, second)]
            steps += [*left[0], "+", *left[1], "(", DIGITS[carry], *digits_of(low, now, self.base)[::-1], "|"]
        return [*steps, *steps[-n - 2 : -1], EOS]


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
                parents = _parents(given[j - 1][:n], before, sums, ((j - 1) * (self.base**n - 1), i, j, self.base))
                sums.append(seq.predicted(total[i] + zero, (i + 2, j + 1), parents, answer=j == m))
            before = sums
        seq.eos(place=(1, m + 1))

    def answer(self, prompt: Sequence[str]) -> list[str]:
        numbers = read_numbers(prompt, "+", "a sum of two or more numbers of one length")
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
