"""Parity in all its forms: plain, with scratchpad, sparse, of pairs, and bitwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import AtLeast1
from lengthwise.core.errors import reject, require
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS, SEP
from lengthwise.languages.machine import Machine
from lengthwise.tasks.addition import read_numbers, write_numbers
from lengthwise.tasks.base import TASKS, AxesLayout, Task, bits_with_ones, body, distinct, read, write_prompt


@TASKS.register("parity")
class Parity(Task):
    """``<bos> 1 0 1 1 <sep> o <eos>``: ``e`` if the number of ones is even, ``o`` if it is odd.

    Length = number of bits. ``ones="iid"`` draws fair bits: a model that counts roughly gains nothing. ``"uniform"``
    draws the number of ones uniformly and shuffles, and then allows length 0 (the format of Huang et al. 2025). The
    answer depends on every bit.
    """

    summary = "is the number of ones even or odd? every bit matters (the control)"
    guess = 0.5
    tokens = ("0", "1", "e", "o")

    ones: Literal["iid", "uniform"] = "iid"

    def lengths(self, low: int, high: int) -> list[int]:
        """Length 0 exists where the number of ones is drawn first."""
        return list(range(max(low, 0 if self.ones == "uniform" else 1), high + 1))

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """All bits share place 1 with the answer; the separator has place 2."""
        n = layout.length
        if self.ones == "iid":
            bits = rng.integers(2, size=(seq.size, n), dtype=np.int64)
        else:
            bits = bits_with_ones(rng, n, rng.integers(n + 1, size=seq.size, dtype=np.int64))
        given = write_prompt(seq, bits.T + self.vocab["0"], 1, sep=2 if n else 0)
        seq.predicted(bits.sum(axis=1) % 2 + self.vocab["e"], place=1 if n else 0, parents=given)
        seq.eos()

    def machine(self) -> Machine:
        return Machine(("0", "1"), 0, lambda odd, bit: odd ^ (bit == "1"), "eo".__getitem__)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        bits = body(prompt, SEP, what := "a string of bits")
        reject(not set(bits) <= {"0", "1"}, f"not {what}")
        return ["eo"[bits.count("1") % 2], EOS]


END_MARK = "#"


@TASKS.register("parity-scratchpad")
class ParityScratchpad(Task):
    """``<bos> 1 0 1 1 = 1 1 0 1 <eos>``: after ``=`` the parity of the bits read so far; the last one is the answer.

    Length = number of bits. Bit i and the running parity *before* it share a place (``=`` shares that of the first
    bit), so the bit that the next token needs is always at the current place, and the place goes up by one per token.

    With ``end_mark`` a ``#`` follows the bits, at the place where the trace ends: there is then a token at the current
    place in every step, and the end need not be known by the *absence* of one.
    """

    summary = "running parity of n bits, one bit per step"
    guess = 0.5
    place_rule = "next"
    first_bit: ClassVar[int] = 1
    """Place of the first bit; ``=`` has place 1 and the first running parity 2."""
    tokens = ("0", "1", "=", lambda task: [END_MARK] * task.end_mark)

    end_mark: bool = False

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Bit i (from 1) has place i (with offset one i + 1), ``=`` 1, running parity i place i + 1."""
        n, zero, first = layout.length, self.vocab["0"], self.first_bit
        bits = rng.integers(2, size=(n, seq.size), dtype=np.int64)
        running = np.bitwise_xor.accumulate(bits, axis=0)
        seq.bos()
        given = seq.givens(bits + zero, place=np.arange(n) + first)
        marks = [seq.given(self.vocab[END_MARK], place=n + first)] if self.end_mark else []
        seq.given(self.vocab["="], place=1)
        before: list[int] = []
        for i in range(n):
            before = [seq.predicted(running[i] + zero, i + 2, parents=[given[i], *before], answer=i == n - 1)]
        seq.eos(place=n + 2, selectors=marks)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        bits = body(prompt, "=", what := "a string of bits followed by =")
        marked = not self.end_mark or bits[-1:] == [END_MARK]
        bits = bits[: len(bits) - self.end_mark]
        reject(not bits or not marked or not set(bits) <= {"0", "1"}, f"not {what}")
        return [*(str(bits[: i + 1].count("1") % 2) for i in range(len(bits))), EOS]


@TASKS.register("parity-scratchpad-offset-one")
class OffsetOneParityScratchpad(ParityScratchpad):
    """`ParityScratchpad` with the other places of Cho et al. 2024's public code: bit i has place i + 1, not i.

    The bit that the next token needs is one place above the current one, and no token that predicts from it shares
    its place. Only the places of the bits (and of the end mark) differ.
    """

    # A task of its own rather than a field: a field would change the name of every result of the other one.
    summary = "running parity of n bits, places as published: a bit is one above the token that predicts from it"
    first_bit = 2


QUERY = "?"


@dataclass(frozen=True)
class SparseParityLayout(AxesLayout):
    """A fixed number of marked bits.

    ``min_ones`` None: fair bits. Otherwise both answers are equally likely, and then every number of marked ones of
    that parity from ``min_ones`` to k: 0 balances the counts, k_max + 1 gives more ones than any training sample has.
    """

    k: int
    min_ones: int | None = None


@TASKS.register("sparse-parity")
class SparseParity(Task):
    """``<bos> 1 0* 1 1* 0 1* ? 0``: the parity of the marked bits (0, 1, 1), read at the query; no end token.

    Length = number of bits. In training the number of marked bits is uniform in ``1..k_max``, row by row, and they lie
    anywhere (``span=None``) or within a window of ``span + 1`` bits at a uniform place. Tests use ``k_test`` (default:
    k_max); for k > k_max + 1 there is a second test with more marked ones than any sample in training, because a
    model that only memorized what to answer for 0..k_max ones passes the first. With ``balanced`` every k is also
    tested with balanced numbers of ones: fair bits rarely hold very few or very many, the counts that are hardest, so
    accuracies at different k compare on balanced numbers only.
    """

    summary = "parity of k marked bits among noise"
    tokens = ("0", "1", "0*", "1*", QUERY)

    k_max: AtLeast1 = 4
    span: int | None = None
    k_test: tuple[AtLeast1, ...] = ()
    balanced: bool = False

    def __post_init__(self) -> None:
        largest = max(self.k_max, *self.k_test) if self.k_test else self.k_max
        narrow = self.span is not None and self.span + 1 < largest
        reject(narrow, f"{largest} marked bits need span {largest - 1} or more, got {self.span}")

    def chance(self, layout: Layout) -> float:
        """One of two; where the number of ones leaves one answer only, that one."""
        if isinstance(layout, SparseParityLayout) and layout.min_ones == layout.k:
            return 1.0
        return 0.5

    def test_layouts(self, length: int) -> list[Layout]:
        """Every k of ``k_test`` that fits; also balanced if set, and beyond k_max + 1 with more ones than trained."""
        layouts: list[Layout] = []
        for k in self.k_test or (self.k_max,):
            if k <= length:
                layouts.append(SparseParityLayout(length, k))
                if self.balanced:
                    layouts.append(SparseParityLayout(length, k, min_ones=0))
                # With k = k_max + 1 only one number of ones is left, so the answer would be known.
                if k > self.k_max + 1:
                    layouts.append(SparseParityLayout(length, k, min_ones=self.k_max + 1))
        return layouts

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Marked bits, query and answer share place 1; noise has none."""
        n, rows = layout.length, seq.size
        if isinstance(layout, SparseParityLayout):
            require(layout.k <= n, f"{layout.k} marked bits do not fit in length {n}; use length {layout.k} or more")
            widest, k = layout.k, np.full(rows, layout.k)
        else:
            widest = min(self.k_max, n)
            k = rng.integers(1, widest + 1, size=rows)
        within = n if self.span is None else min(n, self.span + 1)
        marked = distinct(rng, within, widest, rows)
        if within < n:
            marked += rng.integers(n - within + 1, size=(rows, 1))
        used = np.arange(widest) < k[:, None]
        bits = rng.integers(2, size=(rows, n), dtype=np.int64)
        every_row = np.arange(rows)[:, None]
        if isinstance(layout, SparseParityLayout) and layout.min_ones is not None:
            ones = _ones(rng, rows, layout.min_ones, layout.k)
            # The marked positions come in random order, so the first ones of them are a uniform choice.
            bits[every_row, marked] = np.arange(widest) < ones[:, None]
        is_marked = np.zeros((rows, n), dtype=bool)
        is_marked[every_row, marked] = used
        answer = (bits[every_row, marked] * used).sum(axis=1) % 2
        tokens, places = (bits + 2 * is_marked + self.vocab["0"]).T, is_marked.T.astype(np.int64)
        given = write_prompt(seq, tokens, places, end=QUERY)
        positions = np.where(used, marked + given[0], -1)
        parents: list[Any] = list(np.sort(positions, axis=1)[:, ::-1].T)
        seq.predicted(answer + self.vocab["0"], place=1, parents=parents, selectors=given)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        bits = body(prompt, QUERY, what := "a string of bits with marks and a query")
        reject(not bits or not set(bits) <= {"0", "1", "0*", "1*"}, f"not {what}")
        reject(not any(bit.endswith("*") for bit in bits), "no bit is marked")
        return [str(bits.count("1*") % 2)]


def _ones(rng: Rng, rows: int, low: int, high: int) -> Int[ndarray, " rows"]:
    """Numbers in ``low..high``, both parities equally likely and every number of one parity too."""
    require(low <= high, f"{high} marked bits can't hold {low} ones; use k of {low} or more")
    choices = [np.arange(low, high + 1, 2), np.arange(low + 1, high + 1, 2)]
    choices = [choice for choice in choices if len(choice)]
    which = rng.integers(len(choices), size=rows)
    picks = np.stack([rng.choice(choice, size=rows) for choice in choices])
    return picks[which, np.arange(rows)]


@TASKS.register("even-pairs")
class EvenPairs(Task):
    """``<bos> 0 1 1 0 <sep> e <eos>``: ``e`` if the number of factors 01 and 10 is even, ``o`` if it is odd.

    Length = number of bits. The answer is even exactly where the first and the last bit agree: two parents.
    """

    summary = "is the number of 01 and 10 even? the first and the last bit decide"
    tokens = ("0", "1", "e", "o")

    def chance(self, layout: Layout) -> float:
        return 0.5 if layout.length > 1 else 1.0

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """The first bit, the last bit and the answer share place 1; everything else has 2."""
        n = layout.length
        bits = rng.integers(2, size=(n, seq.size))
        given = write_prompt(seq, bits + self.vocab["0"], 2 - np.isin(np.arange(n), (0, n - 1)), sep=2)
        seq.predicted((bits[0] ^ bits[-1]) + self.vocab["e"], 1, parents=[given[0], given[-1]] if n > 1 else [])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        string = read("repeats", self.vocab, prompt)
        reject(not set(string) <= {"0", "1"}, "not a string of bits")
        return ["eo"[sum(a != b for a, b in pairwise(string)) % 2], EOS]


@TASKS.register("bitwise-or")
class BitwiseOr(Task):
    """``<bos> 1 0 0 | 0 0 1 = 1 0 1 <eos>``: every bit of the answer depends on the two bits at its place.

    Length = bits of each string. Bits of one index share a place.
    """

    summary = "the bitwise OR of two strings of n bits: alignment without carries"
    tokens = ("0", "1", "|", "=")
    place_rule = "next"

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Place 1 is that of the signs, place i + 2 that of bit i (from 0)."""
        n = layout.length
        x, y = rng.integers(2, size=(2, n, seq.size), dtype=np.int64)
        a, b = write_numbers(seq, (x, y), "|=")
        for i in range(n):
            seq.predicted((x[i] | y[i]) + self.vocab["0"], place=i + 2, parents=[a[i], b[i]])
        seq.eos(place=n + 2)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        first, second = read_numbers(prompt, "|", "two strings of one length", count=2)
        reject(not {*first, *second} <= {"0", "1"}, "not strings of bits")
        return [*("1" if "1" in pair else "0" for pair in zip(first, second, strict=True)), EOS]
