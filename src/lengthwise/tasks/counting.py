"""Majority, counts, histograms, successors, square roots and minesweeper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import Alphabet1, Alphabet2, AtLeast1
from lengthwise.core.errors import reject
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, SEP, Vocab
from lengthwise.tasks.base import (
    TASKS,
    DistinctSymbols,
    Task,
    bits_with_ones,
    body,
    draw,
    letters_of,
    numbered,
    read,
    symbol_names,
    write_prompt,
)


@TASKS.register("majority")
class Majority(Task):
    """``<bos> b a b <sep> b <eos>``: the letter that occurs most often, which is always one.

    Length = number of letters. Letters are iid, drawn again until one letter leads; with ``letters=2`` they are 0 and
    1, and the number of zeros is uniform among those without a tie. The answer depends on
    every letter, or on all but one where the number of bits is even.
    """

    summary = "the most frequent letter"
    tokens = (lambda task: "01" if task.letters == 2 else letters_of(task),)

    letters: Alphabet2 = 26

    def chance(self, layout: Layout) -> float:
        """One of the letters that there is room for."""
        return 1.0 / min(self.letters, layout.length) if self.letters > 2 else 0.5

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """All letters share place 1 with the answer; the separator has place 2."""
        n = layout.length
        if self.letters == 2:
            x = bits_without_tie(rng, n, seq.size)
        else:
            x = _letters_with_a_leader(rng, self.letters, n, seq.size)
        given = write_prompt(seq, x.T + 4, 1, sep=2)
        seq.predicted(counts(x, self.letters).argmax(axis=1) + 4, place=1, parents=deciding(given, self.letters))
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        return [leader(read("repeats", self.vocab, prompt)), EOS]


def leader(string: Sequence[str]) -> str:
    """The most frequent symbol; raises `ValueError` on a tie."""
    ranked = sorted((string.count(symbol), symbol) for symbol in set(string))
    reject(len(ranked) > 1 and ranked[-1][0] == ranked[-2][0], "no letter leads")
    return ranked[-1][1]


def deciding(given: list[int], letters: int) -> list[int]:
    """The letters that settle which one leads, given that one does.

    An even number of bits without tie has a lead of two, so the last bit can't turn it; nor can one of two letters.
    """
    return given[:-1] if len(given) == 2 or (letters == 2 and len(given) % 2 == 0) else given


def counts(x: np.ndarray, letters: int) -> np.ndarray:
    """How often each letter occurs, shape ``[rows, letters]``."""
    rows = len(x)
    flat = x + letters * np.arange(rows)[:, None]
    return np.bincount(flat.ravel(), minlength=rows * letters).reshape(rows, letters)


def bits_without_tie(rng: Rng, length: int, rows: int) -> np.ndarray:
    """Bits whose number of ones is uniform in 0..length except length / 2, shuffled."""
    tie = length // 2 if length % 2 == 0 else length + 1
    ones = rng.integers(length + (length % 2), size=rows, dtype=np.int64)
    return bits_with_ones(rng, length, ones + (ones >= tie))


def _letters_with_a_leader(rng: Rng, letters: int, length: int, rows: int) -> np.ndarray:
    parts, missing = [], rows
    while missing > 0:
        x = rng.integers(letters, size=(4 * missing, length), dtype=np.int64)
        ranked = np.partition(counts(x, letters), letters - 2, axis=1)
        parts.append(x[ranked[:, -1] > ranked[:, -2]][:missing])
        missing -= len(parts[-1])
    return np.concatenate(parts)


@TASKS.register("bin-majority-interleave")
class BinMajorityInterleave(Task):
    """``<bos> 1 0 0 <sep> 1 0 0 <eos>``: ``period`` interleaved streams of bits; the answer is the majority of each.

    Length = bits in total, a multiple of the period. In each stream the number of zeros is uniform among those without
    a tie.
    """

    summary = "interleaved streams of bits; the majority of each stream"
    tokens = ("0", "1")

    period: AtLeast1 = 3

    def lengths(self, low: int, high: int) -> list[int]:
        return [length for length in range(max(low, 1), high + 1) if length % self.period == 0]

    def chance(self, layout: Layout) -> float:
        """One of two for every stream."""
        return 0.5**self.period

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Stream r (from 0) has place r + 2, its answer too; ``<sep>`` has 1."""
        n, period = layout.length, self.period
        streams = [bits_without_tie(rng, n // period, seq.size) for _ in range(period)]
        mixed = np.stack(streams, axis=-1).reshape(seq.size, n)
        given = write_prompt(seq, mixed.T + 4, np.arange(n) % period + 2)
        for r, stream in enumerate(streams):
            ahead = (2 * stream.sum(axis=1) > n // period).astype(np.int64)
            seq.predicted(ahead + 4, place=r + 2, parents=deciding(given[r::period], letters=2))
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        bits = read("repeats", self.vocab, prompt)
        reject(len(bits) % self.period > 0, f"the number of bits is not a multiple of {self.period}")
        return [*(leader(bits[r :: self.period]) for r in range(self.period)), EOS]


@TASKS.register("counting")
class Counting(Task):
    """``<bos> 7 10 <sep> 7 8 9 10 <eos>``: all numbers from the first to the second.

    Length = numbers to count. Each number is the successor of the one before; the end is where the last one is met.
    """

    summary = "count from one number to another"
    place_rule = "next"
    tokens = (numbered("", "numbers"),)

    numbers: Alphabet2 = 300

    def max_length(self) -> int:
        return self.numbers

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """The bounds and ``<sep>`` have place 1, number i (from 0) has i + 2."""
        n = layout.length
        start = rng.integers(self.numbers - n + 1, size=seq.size, dtype=np.int64) + 4
        seq.bos()
        before = seq.given(start, place=1)
        end = seq.given(start + n - 1, place=1)
        seq.sep(place=1)
        for i in range(n):
            before = seq.predicted(start + i, place=i + 2, parents=[before])
        seq.eos(place=n + 2, selectors=[end, before])

    def answer(self, prompt: Sequence[str]) -> list[str]:
        bounds = body(prompt, SEP, what := "two numbers between <bos> and <sep>")
        reject(len(bounds) != 2 or min(map(self.vocab.__getitem__, bounds)) < 4, f"not {what}")
        first, last = map(int, bounds)
        reject(last < first, "the second number is below the first one")
        return [*map(str, range(first, last + 1)), EOS]


@TASKS.register("histogram")
class Histogram(Task):
    """``<bos> b a b <sep> 2 1 2 <eos>``: for every token, how often it occurs in the string.

    Length = number of symbols, of which there are ``letters``; the largest count is ``most``. Every count depends on
    all symbols. A symbol and its count share a place.
    """

    summary = "for every token of a string, how often it occurs"
    tokens = (letters_of, lambda task: map(str, range(1, task.most + 1)))

    letters: Annotated[int, Field(ge=2, le=26)] = 4
    most: Alphabet1 = 200

    def max_length(self) -> int:
        return self.most

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 0) and its count have place i + 2, ``<sep>`` has 1."""
        n = layout.length
        x = rng.integers(self.letters, size=(n, seq.size), dtype=np.int64) + 4
        given = write_prompt(seq, x, np.arange(2, n + 2))
        for i in range(n):
            count = (x == x[i]).sum(axis=0)
            seq.predicted(count - 1 + self.vocab["1"], place=i + 2, parents=given if n > 1 else [])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        string = read("repeats", self.vocab, prompt)
        reject(any(self.vocab[symbol] >= self.vocab["1"] for symbol in string), "not a string of letters")
        return [*(str(string.count(symbol)) for symbol in string), EOS]


@TASKS.register("successor")
class Successor(DistinctSymbols):
    """``<bos> 7 2 5 after 2 5 <eos>``: among distinct symbols, the smallest one above a given one.

    Length = number of symbols before ``after``. Every symbol but the largest is equally likely behind it. The
    answer has one parent, chosen by all symbols. A symbol has one place wherever it stands.
    """

    summary = "the next larger symbol of a list, a step of sorting"
    tokens = (letters_of, "after")
    min_length = 2

    letters: Alphabet2 = 150

    def chance(self, layout: Layout) -> float:
        """Any symbol but the one behind ``after`` may be the answer."""
        return 1 / (layout.length - 1)

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 0) has place i + 2 wherever it stands, ``after`` has 1."""
        n, rows = layout.length, np.arange(seq.size)
        x = draw("distinct", Vocab.of(symbol_names(self.letters)), n, seq.size, rng)
        order = np.argsort(x, axis=0)
        rank = rng.integers(n - 1, size=seq.size)
        now, following = order[rank, rows], order[rank + 1, rows]
        given = write_prompt(seq, x, np.arange(2, n + 2), end="after")
        wanted = seq.given(x[now, rows], place=now + 2)
        seq.predicted(x[following, rows], following + 2, [following + given[0]], [*given, wanted])
        seq.eos(place=1)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        text, number = list(prompt[1:-2]), self.vocab.tokens.index
        begun = len(prompt) > 2 and prompt[0] == BOS and prompt[-2] == "after"
        one = begun and prompt[-1] in text and len(set(text)) == len(text)
        reject(not one, "not a list of distinct symbols and one of them")
        larger = [symbol for symbol in text if number(symbol) > number(prompt[-1])]
        reject(not larger or "after" in text, "the largest symbol has no successor")
        return [min(larger, key=number), EOS]


@TASKS.register("square-root")
class SquareRoot(Task):
    """``<bos> 1 1 0 1 0 <sep> 1 0 1 <eos>``: the root of 26 is 5, most significant bit first.

    Length = bits of the number. The root has half as many bits, rounded up; each depends on the bits of the number down
    to twice its significance, and on none below.
    """

    summary = "the square root of a number of n bits, rounded down"
    tokens = ("0", "1")

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Bits 2j and 2j + 1 of the number, by significance, share a place with bit j of the root."""
        n = layout.length
        size = (n + 1) // 2
        bits = rng.integers(2, size=(n, seq.size), dtype=np.int64)
        numbers = [int("".join(map(str, column)), 2) for column in bits.T.tolist()]
        roots = [math.isqrt(number) for number in numbers]
        given = write_prompt(seq, bits + self.vocab["0"], size - np.arange(n)[::-1] // 2 + 1)
        for j in reversed(range(size)):
            bit = np.array([root >> j & 1 for root in roots])
            seq.predicted(bit + self.vocab["0"], place=size - j + 1, parents=given[: n - 2 * j])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        string = read("repeats", self.vocab, prompt)
        root = math.isqrt(int("".join(string), 2))
        return [*format(root, f"0{(len(string) + 1) // 2}b"), EOS]


@TASKS.register("minesweeper")
class Minesweeper(Task):
    """``<bos> M E E E = M 1 1 1 <eos>``: for each empty field of the board, row by row, the number of mines around it.

    Length = side of the board; a field is a mine with probability ``mines``. On the first level of places the fields of
    a column share a place, on the second those of a row. An answer depends on at most nine fields.
    """

    summary = "the number of mines around each field of a square board; two levels of places"
    tokens = ("E", "M", *map(str, range(9)), "=")
    min_length = 2

    mines: Annotated[float, Field(gt=0, lt=1)] = 0.2

    @property
    def levels(self) -> tuple[LevelKind, ...]:
        """Column and row."""
        return ("position", "position")

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Column and row i (from 0) have place i + 2, ``=`` has 1 on both levels."""
        n = layout.length
        board = (rng.random((n, n, seq.size)) < self.mines).astype(np.int64)
        around = np.pad(board, ((1, 1), (1, 1), (0, 0)))
        seq.bos()
        given = [[seq.given(board[r, c] + self.vocab["E"], place=(c + 2, r + 2)) for c in range(n)] for r in range(n)]
        seq.given(self.vocab["="], place=(1, 1))
        for r in range(n):
            for c in range(n):
                count = around[r : r + 3, c : c + 3].sum(axis=(0, 1))
                token = np.where(board[r, c] == 1, self.vocab["M"], count + self.vocab["0"])
                near = [at for row in given[max(r - 1, 0) : r + 2] for at in row[max(c - 1, 0) : c + 2]]
                seq.predicted(token, place=(c + 2, r + 2), parents=near)
        seq.eos(place=(1, 1))

    def answer(self, prompt: Sequence[str]) -> list[str]:
        fields = body(prompt, "=", what := "a square board")
        n = round(len(fields) ** 0.5)
        reject(n * n != len(fields) or n < 2 or not set(fields) <= {"E", "M"}, f"not {what}")
        mines = [divmod(at, n) for at, field in enumerate(fields) if field == "M"]
        found = []
        for at, field in enumerate(fields):
            row, column = divmod(at, n)
            near = sum(abs(r - row) <= 1 and abs(c - column) <= 1 for r, c in mines) if field != "M" else 0
            found.append("M" if field == "M" else str(near))
        return [*found, EOS]
