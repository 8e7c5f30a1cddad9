"""Copying, reversing and sorting, with the tasks built from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import Alphabet1, AtLeast1
from lengthwise.core.errors import reject
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS, SEP, Vocab
from lengthwise.tasks.base import (
    TASKS,
    DistinctSymbols,
    StringTask,
    SymbolChoice,
    Task,
    body,
    draw,
    letters_of,
    read,
    write_copies,
    write_prompt,
)


@TASKS.register("copy")
class Copy(StringTask):
    """``<bos> a b a <sep> a b a <eos>`` with repeats; with distinct symbols no symbol occurs twice in a string.

    Length = number of symbols. ``letters`` is the size of the alphabet, by default 150 for distinct symbols and 2 for
    repeats (the sizes of Huang et al. 2025). A symbol and its copy share a place.
    """

    summary = "a string, then the same string again"

    def arranged(self, string: list[Any]) -> list[Any]:
        return string


@TASKS.register("reverse")
class Reverse(StringTask):
    """``<bos> a b b <sep> b b a <eos>``: the string from its end to its start.

    Length = number of symbols; ``symbols`` and ``letters`` as in copy. A symbol and its copy share a place.
    """

    summary = "a string, then the same string backwards"

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 0) and its copy have place i + 1, ``<sep>`` has n + 1."""
        n = layout.length
        x = draw(self.symbols, self.vocab, n, seq.size, rng)
        write_copies(seq, x, reversed(range(n)), first=1, sep=n + 1)

    def arranged(self, string: list[Any]) -> list[Any]:
        return string[::-1]


@TASKS.register("unique-bigram-copy")
class UniqueBigramCopy(Task):
    """``<bos> a b a c <sep> a b a c <eos>``: symbols repeat, but no pair of neighbours does.

    Length = number of symbols. Two symbols say where the copy is. A symbol and its copy share a place. Strings are
    walks: the next symbol is uniform among those that make a new pair, and a walk that has none starts again.
    """

    summary = "a string in which no pair of neighbours occurs twice, then the same string"

    tokens = (letters_of,)

    letters: Annotated[int, Field(ge=2, le=26)] = 12

    def max_length(self) -> int:
        """Half of all pairs: longer walks often end too early."""
        return self.letters**2 // 2

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 0) and its copy have place i + 2, ``<sep>`` has 1."""
        write_copies(seq, _walks(self.letters, layout.length, seq.size, rng) + 4, range(layout.length))

    def answer(self, prompt: Sequence[str]) -> list[str]:
        string = read("repeats", self.vocab, prompt)
        pairs = list(pairwise(string))
        reject(len(set(pairs)) < len(pairs), "a pair of neighbours occurs twice")
        return [*string, EOS]


def _walks(letters: int, length: int, rows: int, rng: Rng) -> np.ndarray:
    """Strings ``[length, rows]`` of symbols from 0, in which no pair of neighbours occurs twice."""
    x = np.zeros((length, rows), dtype=np.int64)
    todo = np.arange(rows)
    while todo.size:
        own = np.arange(todo.size)
        used = np.zeros((todo.size, letters, letters), dtype=bool)
        stuck = np.zeros(todo.size, dtype=bool)
        x[0, todo] = rng.integers(letters, size=todo.size)
        for i in range(1, length):
            here = x[i - 1, todo]
            keys = np.where(used[own, here], -1.0, rng.random((todo.size, letters)))
            following = keys.argmax(axis=1)
            stuck |= keys[own, following] < 0
            used[own, here, following] = True
            x[i, todo] = following
        todo = todo[stuck]
    return x


@TASKS.register("duplicate")
class Duplicate(StringTask):
    """``<bos> a b b <sep> a b b a b b <eos>``: the string twice.

    Length = number of symbols; ``symbols`` and ``letters`` as in `copy`. A symbol and its copies share a place.
    """

    summary = "a string, then the same string twice"

    symbols: SymbolChoice = "repeats"

    def arranged(self, string: list[Any]) -> list[Any]:
        return 2 * string


@TASKS.register("odds-first")
class OddsFirst(StringTask):
    """``<bos> a b c d e <sep> a c e b d <eos>``: the first, third, … symbol, then the second, fourth, …

    Length = number of symbols; ``symbols`` and ``letters`` as in `copy`. A symbol and its copy share a place.
    """

    summary = "a string, then its symbols at odd and after them those at even places"

    symbols: SymbolChoice = "repeats"

    def arranged(self, string: list[Any]) -> list[Any]:
        return string[::2] + string[1::2]


HIDDEN = "?"


@TASKS.register("missing-duplicate")
class MissingDuplicate(Task):
    """``<bos> 0 1 1 0 ? 1 <sep> 1 <eos>``: 011 twice, with one bit hidden.

    Length = bits of the string that is written twice. The answer depends on the twin of the hidden bit, which the mark
    chooses. Twins share a place.
    """

    summary = "a string of n bits twice, with one bit hidden"
    guess = 0.5
    tokens = ("0", "1", HIDDEN)

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Bit i (from 0) of both copies has place i + 2, and so has the answer that names it; ``<sep>`` has 1."""
        n, every_row = layout.length, np.arange(seq.size)
        bits = rng.integers(2, size=(n, seq.size), dtype=np.int64)
        hidden = rng.integers(2 * n, size=seq.size, dtype=np.int64)
        twice = np.concatenate([bits, bits]) + self.vocab["0"]
        twice[hidden, every_row] = self.vocab[HIDDEN]
        given = write_prompt(seq, twice, np.tile(np.arange(2, n + 2), 2))
        twin = (hidden + n) % (2 * n)
        found = bits[hidden % n, every_row] + self.vocab["0"]
        seq.predicted(found, hidden % n + 2, parents=[twin + given[0]], selectors=[hidden + given[0]])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        string = read("repeats", self.vocab, prompt)
        half = len(string) // 2
        first, second = string[:half], string[half:]
        whole = len(first) == len(second) and string.count(HIDDEN) == 1
        reject(not whole, "not a string twice with one symbol hidden")
        found = [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]
        reject(len(found) != 1, "the halves differ")
        return [next(symbol for symbol in found[0] if symbol != HIDDEN), EOS]


FILLER = "#"


@TASKS.register("look-back")
class LookBack(DistinctSymbols):
    """``<bos> # a b c d e <sep> a c e <eos>`` for t = 2: the first symbol and every t-th one after it.

    Length = number of symbols, all distinct, after t − 1 fillers. With t = 1 this is copying. The next answer is the
    symbol t places after the last one.
    """

    summary = "every t-th symbol of a string: induction at distance t"
    tokens = (letters_of, FILLER)

    t: AtLeast1 = 2
    letters: Alphabet1 = 150

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 0) and its copy have place i + t + 1, fillers 2 to t, ``<sep>`` 1."""
        n = layout.length
        x = draw("distinct", Vocab(self.vocab.tokens[:-1]), n, seq.size, rng)
        seq.bos()
        for i in range(self.t - 1):
            seq.given(self.vocab[FILLER], place=i + 2)
        given = seq.givens(x, place=np.arange(n) + self.t + 1)
        seq.sep(place=1)
        for i in range(0, n, self.t):
            seq.predicted(x[i], place=i + self.t + 1, parents=[given[i]])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        text = body(prompt, SEP, what := "a string after fillers")
        fillers, string = text[: self.t - 1], text[self.t - 1 :]
        reject(fillers != [FILLER] * (self.t - 1) or not string, f"not {what}")
        known = all(4 <= self.vocab[symbol] < 4 + self.letters for symbol in string)
        reject(len(set(string)) < len(string) or not known, "not a string of distinct symbols")
        return [*string[:: self.t], EOS]


POP, PUSH, BOTTOM = "pop", ("push0", "push1"), "#"


@dataclass(frozen=True)
class StackSize(Layout):
    """How many of the tokens are the first stack; the others are actions."""

    stack: int


@TASKS.register("stack-manipulation")
class StackManipulation(Task):
    """``<bos> 0 1 pop push0 push1 <sep> 1 0 0 # # # <eos>``: the stack 01 after three actions, top first.

    Length = symbols of the first stack (bottom to top) and actions. A pop from an empty stack changes nothing. The
    answer is filled up with ``#`` to one token more than the length. Every symbol is a copy of one that was pushed,
    chosen by the actions.
    """

    summary = "the stack after pushes and pops, top to bottom"
    tokens = ("0", "1", POP, *PUSH, BOTTOM)

    def layout(self, length: int, rng: Rng) -> StackSize:
        return StackSize(length, int(rng.integers(1, length + 1)))

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Token i (from 0) has place i + 2, and so has a copy of its symbol; ``<sep>`` and ``#`` have 1."""
        assert isinstance(layout, StackSize)
        n, rows = layout.length, np.arange(seq.size)
        first = rng.integers(2, size=(layout.stack, seq.size), dtype=np.int64) + self.vocab["0"]
        actions = rng.integers(3, size=(n - layout.stack, seq.size), dtype=np.int64) + self.vocab[POP]
        tokens = np.concatenate([first, actions])
        given = write_prompt(seq, tokens, np.arange(2, n + 2))
        # Which token is on the stack at each height, and the height.
        stack = np.full((n + 1, seq.size), -1, dtype=np.int64)
        stack[: layout.stack] = np.arange(layout.stack)[:, None]
        height = np.full(seq.size, layout.stack)
        for step in range(layout.stack, n):
            pop = tokens[step] == self.vocab[POP]
            stack[height[~pop], rows[~pop]] = step
            height = np.where(pop, np.maximum(height - 1, 0), height + 1)
        symbols = np.where(tokens >= self.vocab[PUSH[0]], tokens - self.vocab[PUSH[0]] + self.vocab["0"], tokens)
        for depth in range(1, n + 2):
            there = depth <= height
            source = stack[np.maximum(height - depth, 0), rows]
            seq.predicted(
                np.where(there, symbols[source, rows], self.vocab[BOTTOM]),
                place=np.where(there, source + 2, 1),
                parents=[np.where(there, source + given[0], -1)],
                selectors=given[layout.stack - 1 :],
            )
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        string = read("repeats", self.vocab, prompt)
        stack: list[str] = []
        started = False
        for token in string:
            bit = token in ("0", "1")
            started |= not bit
            if token in PUSH or (bit and not started):
                stack.append(token[-1])
            elif token == POP:
                stack = stack[:-1]
            else:
                raise ValueError(f"{token!r} is no action")
        reject(string[0] not in ("0", "1"), "the first stack is empty")
        return [*reversed(stack), *[BOTTOM] * (len(string) + 1 - len(stack)), EOS]


def write_sorted(seq: SequenceBuilder, x: np.ndarray, *, with_last: bool) -> None:
    """A string ``[length, B]`` and the same in ascending order; symbol i and its copy have place i + 2, ``<sep>`` 1.

    A copy is chosen by all symbols, ``with_last`` also by the copy before it.
    """
    order = np.argsort(x, axis=0, kind="stable")
    ascending = np.take_along_axis(x, order, axis=0)
    given = write_prompt(seq, x, np.arange(2, len(x) + 2))
    last = given[-1] + 1
    for at, symbols in zip(order, ascending, strict=True):
        selectors = [*given, last] if with_last else given
        last = seq.predicted(symbols, place=at + 2, parents=[at + given[0]], selectors=selectors)
    seq.eos()


@TASKS.register("sort")
class Sort(DistinctSymbols):
    """``<bos> 7 2 5 <sep> 2 5 7 <eos>``: distinct symbols in ascending order.

    Length = number of symbols. The next symbol is the smallest one above the current one: one parent, chosen by all
    symbols. A symbol and its copy share a place.
    """

    summary = "distinct symbols, then the same in ascending order"

    letters: Alphabet1 = 150

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        write_sorted(seq, draw("distinct", self.vocab, layout.length, seq.size, rng), with_last=True)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        return [*sorted(read("distinct", self.vocab, prompt), key=self.vocab.tokens.index), EOS]


@TASKS.register("bucket-sort")
class BucketSort(Task):
    """``<bos> c a c b <sep> a b c c <eos>``: symbols from an alphabet of 5 in ascending order, repeats included.

    Length = number of symbols. Equal symbols keep their order, so that every copy has one parent, chosen by all
    symbols; the two share a place.
    """

    summary = "symbols from an alphabet of 5, then the same in ascending order"
    tokens = (letters_of,)

    letters: Annotated[int, Field(ge=2, le=26)] = 5

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        write_sorted(seq, draw("repeats", self.vocab, layout.length, seq.size, rng), with_last=False)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        string = read("repeats", self.vocab, prompt)
        return [*(letter for letter in self.vocab.tokens[4:] for _ in range(string.count(letter))), EOS]
