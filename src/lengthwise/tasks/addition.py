"""Sums and products of numbers: addition and its relatives, multiplication, with and without scratchpads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import Alphabet2, AtLeast1, DigitBase
from lengthwise.core.errors import reject
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS
from lengthwise.tasks.base import TASKS, AxesLayout, Detail, Kind, Task, body, numbered

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class OnesFirst(Task):
    """A task whose numbers begin with their least significant digit."""

    @property
    def written(self) -> str:
        return "Numbers are written ones first."


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


def read_numbers(
    prompt: Sequence[str], sign: str, what: str, *, end: str = "=", count: int = 0, msd_first: bool = False
) -> list[list[str]]:
    """The digits of ``count`` numbers of one length (0: two or more), as in ``<bos> a + b + c =``.

    Raises `ValueError` for a prompt that is not ``what``.
    """
    numbers = [text.split() for text in " ".join(body(prompt, end, what)).split(f" {sign} ")]
    sizes = {len(text) for text in numbers}
    right = len(numbers) == count if count else len(numbers) > 1
    if right and len(sizes) > 1 and sign in ("+", "-"):
        missing = [["0"] * (max(sizes) - len(text)) for text in numbers]
        padded = [zeros + text if msd_first else text + zeros for text, zeros in zip(numbers, missing, strict=True)]
        order = "most" if msd_first else "least"
        written = f" {sign} ".join(map(" ".join, padded))
        raise ValueError(f"operands must have equal length, {order} significant digit first: {written} {end}")
    reject(not right or len(sizes) > 1 or 0 in sizes, f"not {what}")
    return numbers


def number(text: Sequence[str], base: int) -> int:
    """The number with these digits, least significant first; raises `ValueError` for anything else."""
    value, values = 0, _values(base)
    for digit in reversed(text):
        if digit not in values:
            raise ValueError(f"{digit!r} is no digit of base {base}")
        value = value * base + values[digit]
    return value


@cache
def _values(base: int) -> dict[str, int]:
    return {digit: value for value, digit in enumerate(DIGITS[:base])}


def digits_of(value: int, count: int, base: int) -> list[str]:
    """``count`` digits of a number, least significant first; raises `ValueError` if it has more."""
    found = []
    for _ in range(count):
        value, digit = divmod(value, base)
        found.append(DIGITS[digit])
    reject(value > 0, f"the number has more than {count} digits")
    return found


def carried(columns: np.ndarray, base: int) -> np.ndarray:
    """Digits of numbers whose columns ``[n, B]`` may exceed the base; what overflows at the end is lost."""
    result = np.empty_like(columns)
    carry = np.zeros(columns.shape[1], dtype=columns.dtype)
    for i, column in enumerate(columns):
        carry, result[i] = np.divmod(column + carry, base)
    return result


def digits(task: Any) -> str:
    """The digits of the base of a task, for its `Task.tokens`."""
    return DIGITS[: task.base]


def digits_in(prompt: Sequence[str], sign: str, *, msd_first: bool = False) -> list[list[int]]:
    """The numbers of a prompt with this sign between them, least significant digit first."""
    return [[*number][:: -1 if msd_first else 1] for number in _digits_of_numbers(" ".join(prompt[1:-1]), sign)]


@lru_cache(maxsize=1 << 12)
def _digits_of_numbers(text: str, sign: str) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(DIGITS.index, number.split())) for number in text.split(f" {sign} "))


@cache
def column_details(sign: Literal["+", "-"], base: int, *, msd_first: bool = False) -> dict[str, Detail]:
    """What may hold of a digit of a sum or difference of two numbers of one length, for `Task.details`."""
    carry, to_self = ("carry", f"that sums to {base - 1}") if sign == "+" else ("borrow", "of two equal digits")

    @lru_cache(maxsize=1)  # All digits of an answer are asked for, each by all details.
    def columns(*prompt: str) -> tuple[list[tuple[int, int]], list[int]]:
        """The columns, and what each carries to the next, after a 0 for the first."""
        pairs, carries = list(zip(*digits_in(prompt, sign, msd_first=msd_first), strict=True)), [0]
        for one, other in pairs:
            total = one + other + carries[-1] if sign == "+" else one - other - carries[-1]
            carries.append(int(not 0 <= total < base))
        return pairs, carries

    def pair(prompt: list[str], answer: list[str], holds: Callable[[int, int], bool]) -> bool:
        pairs, _ = columns(*prompt)
        return len(answer) < len(pairs) and holds(*pairs[len(answer)])

    def carried_at(prompt: list[str], at: int) -> bool:
        _, carries = columns(*prompt)
        return at < len(carries) and carries[at] > 0

    details: dict[str, Detail] = {
        "in a column of two equal digits": lambda prompt, answer: pair(prompt, answer, lambda a, b: a == b),
        f"where a {carry} comes in": lambda prompt, answer: carried_at(prompt, len(answer)),
        f"where a {carry} goes out": lambda prompt, answer: carried_at(prompt, len(answer) + 1),
    }
    of_sums: dict[str, Detail] = {
        f"in a column {to_self}": lambda prompt, answer: pair(prompt, answer, lambda a, b: a + b == base - 1),
        "where both digits of the column before are equal": lambda prompt, answer: (
            bool(answer) and pair(prompt, answer[1:], lambda a, b: a == b)
        ),
        "where no carry comes into the last column": lambda prompt, answer: (
            len(answer) == len(columns(*prompt)[0]) and not carried_at(prompt, len(answer) - 1)
        ),
        "where no carry comes into the column before it": lambda prompt, answer: (
            bool(answer) and not carried_at(prompt, len(answer) - 1)
        ),
    }
    return details | (of_sums if sign == "+" else {})


@cache
def number_kinds(sign: str, base: int, *, msd_first: bool = False, sums: bool = False) -> dict[str, Kind]:
    """Kinds of prompts with two numbers and this sign between them, for `Task.kinds`; of ``sums``, by carries, too."""
    order = slice(None, None, -1 if msd_first else None)

    def read(prompt: Sequence[str]) -> list[list[int]]:
        return digits_in(prompt, sign, msd_first=msd_first)

    def made(change: Callable[..., None], *more: Any) -> Callable[[list[str], Rng], list[str]]:
        """What changes the numbers of a prompt in place; ``change`` is called with these, the stream and ``more``."""

        def make(prompt: list[str], rng: Rng) -> list[str]:
            numbers = read(prompt)
            change(numbers, rng, *more)
            texts = (" ".join(DIGITS[digit] for digit in number[order]) for number in numbers)
            return [prompt[0], *f" {sign} ".join(texts).split(), prompt[-1]]

        return make

    def led(prompt: Sequence[str]) -> list[bool]:
        return [len(number) > 1 and number[-1] == 0 for number in read(prompt)]

    def lead(number: list[int], rng: Rng) -> None:
        count = int(rng.integers(1, max(2, len(number) // 2 + 1)))
        number[-count:] = [0] * count

    def lead_all(numbers: list[list[int]], rng: Rng) -> None:
        for number in numbers:
            lead(number, rng)

    def lead_only(numbers: list[list[int]], rng: Rng, one: int) -> None:
        lead(numbers[one], rng)
        numbers[1 - one][-1] = numbers[1 - one][-1] or int(rng.integers(1, base))

    def rounded(prompt: Sequence[str]) -> bool:
        return all(len(number) > 1 and number[0] == 0 for number in read(prompt))

    def round_all(numbers: list[list[int]], rng: Rng) -> None:
        for number in numbers:
            if len(number) > 1:
                count = int(rng.integers(1, len(number) // 2 + 1))
                number[:count] = [0] * count

    def no_number(numbers: list[list[int]], rng: Rng, one: int) -> None:
        numbers[one] = [0] * len(numbers[one])

    def repeat(numbers: list[list[int]], rng: Rng) -> None:
        numbers[1] = numbers[0]

    kinds: dict[str, Kind] = {
        "both numbers have leading zeros": (lambda prompt: all(led(prompt)), made(lead_all)),
        "the numbers are equal": (lambda prompt: read(prompt)[0] == read(prompt)[1], made(repeat)),
    }
    for one, which in enumerate(("first", "second")):
        if sign == "-" and one == 0:
            continue  # It is the larger one.
        kinds |= {
            f"only the {which} number has leading zeros": (
                lambda prompt, one=one: led(prompt)[one] and not led(prompt)[1 - one],
                made(lead_only, one),
            ),
            f"the {which} number is 0": (lambda prompt, one=one: not any(read(prompt)[one]), made(no_number, one)),
        }
    if not sums:
        return kinds

    def columns(prompt: Sequence[str]) -> list[int]:
        return [one + other for one, other in zip(*read(prompt), strict=True)]

    def second(
        numbers: list[list[int]], rng: Rng, low: Callable[[int, int], int], high: Callable[[int, int], int]
    ) -> None:
        """Draws the second number anew, each digit between two that follow from its column and the first number."""
        numbers[0][0] = numbers[0][0] or int(rng.integers(1, base))
        digits = [(low(at, digit), high(at, digit)) for at, digit in enumerate(numbers[0])]
        numbers[1][:] = [int(rng.integers(first, last + 1)) for first, last in digits]

    def goes_out(prompt: Sequence[str]) -> bool:
        carry = 0
        for total in columns(prompt):
            carry = int(total + carry >= base)
        return carry > 0

    def carry_out(numbers: list[list[int]], rng: Rng) -> None:
        """The last column carries, whatever comes in."""
        numbers[0][-1] = numbers[0][-1] or int(rng.integers(1, base))
        numbers[1][-1] = int(rng.integers(base - numbers[0][-1], base))

    top = base - 1
    return kinds | {
        "both numbers end in zeros": (rounded, made(round_all)),
        "every column carries": (
            lambda prompt: columns(prompt)[0] > top and min(columns(prompt)) >= top,
            made(second, lambda at, digit: top - digit + (at == 0), lambda at, digit: top),
        ),
        "no column carries": (
            lambda prompt: max(columns(prompt)) <= top,
            made(second, lambda at, digit: 0, lambda at, digit: top - digit),
        ),
        f"one carry runs through columns that sum to {top}": (
            lambda prompt: columns(prompt)[0] > top and set(columns(prompt)[1:]) == {top},
            made(second, lambda at, digit: top - digit + (at == 0), lambda at, digit: top - digit * (at > 0)),
        ),
        "the sum has one more digit": (goes_out, made(carry_out)),
    }  # fmt: skip


def extra_digits(operands: int, base: int) -> int:
    """How many digits a sum of so many numbers can have more than they have."""
    return next(extra for extra in range(operands) if base**extra >= operands)


def write_sum(seq: SequenceBuilder, numbers: np.ndarray, base: int, *, msd_first: bool = False) -> None:
    """Numbers ``[m, n, B]`` as in `write_numbers`, then their sum with as many digits as it can have."""
    m, n, rows = numbers.shape
    extra = np.zeros((extra_digits(m, base), rows), dtype=np.int64)
    total = carried(np.concatenate([numbers.sum(axis=0), extra]), base)
    given = write_numbers(seq, list(numbers), "+" * (m - 1) + "=", msd_first=msd_first)
    write_columns(seq, given, total, largest=m * (base**n - 1), base=base)


def write_columns(
    seq: SequenceBuilder,
    given: Sequence[Sequence[int]],
    result: np.ndarray,
    *,
    largest: int,
    base: int,
    hint: Callable[[int], object] = lambda i: None,
) -> None:
    """Write the digits ``[n, B]`` of a result, of which the digit of significance i has place i + 2, and ``<eos>``.

    Each depends on the ``given`` digits of its column, and on the column before with its result, which shows the carry
    that came in, hence the one that goes out; none comes into i = 0. The result is at most ``largest``; ``hint`` writes
    what stands before a digit.
    """
    carried_by: list[int] = []
    for i, digit in enumerate(result):
        hint(i)
        own = [number[i] for number in given if i < len(number)]
        parents = [*own, *carried_by] if largest >= base**i else []
        at = seq.predicted(digit + seq.vocab["0"], place=i + 2, parents=parents)
        carried_by = [*own, at] if i else own
    seq.eos(place=len(result) + 2)


@TASKS.register("addition")
class Addition(Task):
    """``<bos> 7 2 + 5 4 = 2 7 0 <eos>`` is 27 + 45 = 72, least significant digit first, zero-padded to length + 1.

    Length = digits of each operand. Digits of one significance share a place. The carry into a digit shows in the
    digit before it, so each digit of the sum depends on five tokens, however long the numbers are.
    """

    summary = "two numbers of n digits; digits of one significance share a place"
    place_rule = "next"
    tokens = (digits, "+", "=")

    base: DigitBase = 10
    operands: Literal["lsd_first", "msd_first"] = "lsd_first"

    @property
    def written(self) -> str:
        return f"{'Numbers are' if self.operands == 'lsd_first' else 'The sum is'} written ones first."

    @property
    def kinds(self) -> dict[str, Kind]:
        return number_kinds("+", self.base, msd_first=self.operands == "msd_first", sums=True)

    @property
    def details(self) -> dict[str, Detail]:
        return column_details("+", self.base, msd_first=self.operands == "msd_first")

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Place 1 is the operators', place i + 2 that of significance i."""
        numbers = rng.integers(self.base, size=(2, layout.length, seq.size), dtype=np.int64)
        write_sum(seq, numbers, self.base, msd_first=self.operands == "msd_first")

    def answer(self, prompt: Sequence[str]) -> list[str]:
        msd_first, what = self.operands == "msd_first", "an addition of two numbers of one length"
        numbers = read_numbers(prompt, "+", what, count=2, msd_first=msd_first)
        first, second = (text[::-1] if msd_first else text for text in numbers)
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
    tokens = ("0", "1", "+", "=")
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
        first, plus, second = "".join(body(prompt, "=", what := "a sum of two numbers")).partition("+")
        reject(not plus, f"not {what}")
        for number in (first, second):
            zeros = len(number) > 1 and number[0] == "0"
            wrong = not number or not set(number) <= {"0", "1"} or zeros
            reject(wrong, f"not a binary number without leading zeros: {number!r}")
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
class Subtraction(OnesFirst):
    """``<bos> 7 2 - 5 1 = 2 1 <eos>`` is 27 - 15 = 12, least significant digit first; the first number is not smaller.

    Length = digits of each number and of the answer. As in `addition`, digits of one significance share a place and
    each digit depends on five tokens: the borrow into a digit shows in the digits before it.
    """

    summary = "the difference of two numbers of n digits; digits of one significance share a place"
    place_rule = "next"
    tokens = (digits, "-", "=")

    base: DigitBase = 10

    @property
    def kinds(self) -> dict[str, Kind]:
        return number_kinds("-", self.base)

    @property
    def details(self) -> dict[str, Detail]:
        return column_details("-", self.base)

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Place 1 is that of the signs, place i + 2 that of significance i."""
        n = layout.length
        x, y = rng.integers(self.base, size=(2, n, seq.size), dtype=np.int64)
        below = np.zeros(seq.size, dtype=bool)
        for i in range(n):
            below = (x[i] < y[i]) | ((x[i] == y[i]) & below)
        x, y = np.where(below, y, x), np.where(below, x, y)
        given = write_numbers(seq, (x, y), "-=")
        write_columns(seq, given, carried(x - y, self.base), largest=self.base**n - 1, base=self.base)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        first, second = read_numbers(prompt, "-", "a subtraction of two numbers of one length", count=2)
        left = number(first, self.base) - number(second, self.base)
        reject(left < 0, "the first number is smaller than the second one")
        return [*digits_of(left, len(first), self.base), EOS]


@dataclass(frozen=True)
class SumLayout(AxesLayout):
    """So many ``operands`` of so many ``digits``; the length is the larger of the two."""

    digits: int
    operands: int


@TASKS.register("addition-multi")
class MultiOperandAddition(OnesFirst):
    """``<bos> 8 8 + 3 9 + 8 8 = 9 6 2 <eos>`` is 88 + 93 + 88 = 269, least significant digit first.

    Length = the larger of digits and operands; training draws the smaller one, tests have as many operands as digits.
    Digits of one significance share a place. There are at most ``base`` operands, so that a carry is smaller than the
    base and shows in the column before.
    """

    summary = "the sum of several numbers; digits of one significance share a place"
    place_rule = "next"
    min_length = 2
    tokens = (digits, "+", "=")

    base: DigitBase = 10

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
        size = (layout.operands, layout.digits, seq.size)
        write_sum(seq, rng.integers(self.base, size=size, dtype=np.int64), self.base)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        numbers = read_numbers(prompt, "+", "a sum of two or more numbers of one length")
        total = sum(number(text, self.base) for text in numbers)
        return [*digits_of(total, len(numbers[0]) + extra_digits(len(numbers), self.base), self.base), EOS]


@TASKS.register("addition-hinted")
class HintedAddition(OnesFirst):
    """``<bos> i4 7 i5 2 + i4 5 i5 4 = i4 2 i5 7 i6 0 <eos>``: addition with a hint before every digit.

    Length = digits of each operand. Digits of one significance share a hint, and the hints are consecutive from a
    random start, so that all ``hints`` of them are met on short numbers. Hint and digit also share a place, as in
    `addition`.
    """

    summary = "addition in which a hint before every digit names its significance"
    place_rule = "next"
    tokens = (digits, "+", "=", numbered("i", "hints"))

    base: DigitBase = 10
    hints: Alphabet2 = 128

    def max_length(self) -> int:
        """One hint is for the last carry."""
        return self.hints - 1

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Place 1 is that of the signs, place i + 2 that of significance i and its hints."""
        n, zero = layout.length, self.vocab["0"]
        numbers = rng.integers(self.base, size=(2, n, seq.size), dtype=np.int64)
        start = rng.integers(self.hints - n, size=seq.size, dtype=np.int64) + self.vocab["i0"]
        seq.bos()
        hints, given = list[int](), list[list[int]]()
        for operand, sign in zip(numbers, "+=", strict=True):
            columns = [(seq.given(start + i, i + 2), seq.given(operand[i] + zero, i + 2)) for i in range(n)]
            hints = hints or [hint for hint, _ in columns]
            given.append([digit for _, digit in columns])
            seq.given(self.vocab[sign], place=1)
        total = carried(np.concatenate([numbers.sum(axis=0), np.zeros((1, seq.size), dtype=np.int64)]), self.base)

        def hint(i: int) -> None:
            seq.predicted(start + i, place=i + 2, parents=[hints[min(i, n - 1)]])

        write_columns(seq, given, total, largest=2 * (self.base**n - 1), base=self.base, hint=hint)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        text = body(prompt, "=", what := "an addition of two numbers of one length with hints")
        half = len(text) // 2
        n = half // 2
        reject(len(text) != 4 * n + 1 or n == 0 or text[half] != "+", f"not {what}")
        names = self.vocab.tokens[self.vocab["i0"] :]
        start = names.index(text[0]) if text[0] in names else -1
        hints = list(names[start : start + n + 1])
        same = text[0:half:2] == text[half + 1 :: 2] == hints[:n]
        reject(start < 0 or len(hints) <= n or not same, "the hints are not consecutive, or differ between the numbers")
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
    tokens = (digits, lambda task: [f"{digit}'" for digit in digits(task)], "+", "|", "(")

    base: DigitBase = 10

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
    tokens = (digits, "+", "=", ">")

    @property
    def levels(self) -> tuple[LevelKind, ...]:
        """The significance, and the number."""
        return ("position", "position")

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
            # What is 0 in every string of the layout plays no part: in the sum before, and in this one.
            largest = (j - 1) * (self.base**n - 1)
            columns = [
                [*given[j - 1][:n][i : i + 1], *([before[i]] if largest >= self.base**i else [])] for i in range(width)
            ]
            sums: list[int] = []
            for i, own in enumerate(columns):
                if largest + self.base**n - 1 < self.base**i:
                    own = []
                elif j > 1 and i > 0:
                    own = [*own, *columns[i - 1], *sums[max(i - 1, 1) : i]]
                sums.append(seq.predicted(total[i] + zero, (i + 2, j + 1), own, answer=j == m))
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


@TASKS.register("multiplication")
class Multiplication(OnesFirst):
    """``<bos> 4 1 * 2 1 = 8 6 1 0 <eos>`` is 14 · 12 = 168, least significant digit first, padded to both lengths.

    Length = digits of the first factor; the second one has ``second`` digits, or as many as the first. Digits of one
    significance share a place. A carry can be larger than a digit shows, so that with two long factors each digit of
    the product depends on all digits of at most its significance. With a fixed ``second`` = m of at most ``base`` the
    digit before shows the carry modulo the base, and m + 2 digits of the first factor tell the rest: at most 2m + 3
    tokens at every length.
    """

    summary = "a number of n digits times one of n or of a fixed number of digits"
    place_rule = "next"
    tokens = (digits, "*", "=")

    base: DigitBase = 10
    second: AtLeast1 | None = None

    @property
    def kinds(self) -> dict[str, Kind]:
        return number_kinds("*", self.base) if self.second != 1 else {}

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
        first, second = _factors(prompt)
        fit = first and len(second) == (self.second or len(first))
        reject(not fit, "the factors do not have the digits that they should have")
        product = number(first, self.base) * number(second, self.base)
        return [*digits_of(product, len(first) + len(second), self.base), EOS]


def _factors(prompt: Sequence[str]) -> tuple[list[str], list[str]]:
    text = body(prompt, "=", what := "a product of two numbers")
    reject(text.count("*") != 1, f"not {what}")
    return text[: text.index("*")], text[text.index("*") + 1 :]


TASKS.alias("multiplication-by-2-digits", {"name": "multiplication", "second": 2})
TASKS.alias("binary-multiplication", {"name": "multiplication", "base": 2})


@dataclass(frozen=True)
class Factors(AxesLayout):
    """The digits of the two factors; the length is the larger of the two."""

    first: int
    second: int


@TASKS.register("multiplication-scratchpad")
class LongMultiplication(OnesFirst):
    """``<bos> 2 1 0 0 * 3 1 = 6 3 0 + 2 1 0 = 6 3 0 0 > 6 5 1 0 <eos>`` is 12 · 13: 36 and 12, then 36 and 156.

    All numbers have their last digit first; the first factor is padded to the digits of the product. Length = the
    larger number of digits of the two factors. After ``=`` come the products with each digit of the second factor, then
    their running sums. Levels of places (after Cho et al. 2024): the significance within the first factor and a partial
    product; the digit of the second factor; the significance within the product. Every token depends on at most five.
    """

    summary = "the product of two numbers with partial products and running sums; three levels of places"
    tokens = (digits, "*", "=", "+", ">")

    base: DigitBase = 10

    def __post_init__(self) -> None:
        without = "partial products without carries are no task"
        reject(self.base < 3, f"base must be 3 or more, for {without}, got {self.base}")

    @property
    def levels(self) -> tuple[LevelKind, ...]:
        """Significance in a partial product, number of the partial product, significance in the product."""
        return ("position", "position", "position")

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
            product = carried(np.concatenate([x * y[j], np.zeros((1, seq.size), dtype=np.int64)]), self.base)
            columns: list[int] = []
            for i in range(n + 1):
                own = [*([a[i]] if i < n else []), b[j], *([a[i - 1]] if i else []), *columns[max(i - 1, 1) : i]]
                columns.append(seq.predicted(product[i] + zero, (i + 2, j + 1, i + j + 2), own, answer=False))
            products.append(product)
            partial.append(columns)
        total, before = np.zeros((n + m, seq.size), dtype=np.int64), list[int]()
        for j in range(m):
            seq.predicted(self.vocab["=" if j == 0 else ">"], place=(0, j + 1, 1), answer=False)
            total[j : j + n + 1] += products[j]
            total = carried(total, self.base)
            # What is 0 in every string of the layout plays no part.
            shifted: list[list[int]] = [[]] * j + [[at] for at in partial[j]] + [[]] * (m - 1 - j)
            both = [[*before[: n + j][i : i + 1], *own] for i, own in enumerate(shifted)]
            sums: list[int] = []
            for i, own in enumerate(both):
                # The first digit of a partial product is at most base - 2, so that the sum shows its carry without it.
                shown = both[i - 1][int(j == 1 and i == n + 1 > 2) :]
                parents = [*own, *shown, *sums[max(i - 1, j + 1) : i]] if 0 < j < i else own
                parents = parents if i <= n + j else []
                sums.append(seq.predicted(total[i] + zero, (0, j + 1, i + 2), parents, answer=j == m - 1))
            before = sums
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        padded, second = _factors(prompt)
        width, n = len(padded), len(padded) - len(second)
        reject(n < 1 or not second, "the first factor is not padded to the digits of the product")
        first = number(padded, self.base)
        products = [first * number([digit], self.base) for digit in second]
        trace: list[str] = []
        for j, product in enumerate(products):
            trace += [*(["+"] if j else []), *digits_of(product, n + 1, self.base)]
        total = 0
        for j, product in enumerate(products):
            total += product * self.base**j
            trace += [">" if j else "=", *digits_of(total, width, self.base)]
        return [*trace, EOS]
