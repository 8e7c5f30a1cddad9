"""Sums modulo m, words of a group, and walks on a cycle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, reduce
from itertools import permutations
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.errors import reject
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS, SEP
from lengthwise.languages.machine import Machine
from lengthwise.tasks.base import TASKS, Task, body, numbered, read, write_prompt
from lengthwise.tasks.traced import Traced

Shape = int | tuple[Any, Any]
"""A bracketed expression: the index of a number, or two expressions with an operation between them."""


def signs_of(task: Any) -> str:
    """The signs of a task, with a product only if it has ``times``."""
    return "+-*" if task.times else "+-"


@TASKS.register("modular-arithmetic")
class ModularArithmetic(Task):
    """``<bos> 3 + 4 * 2 = 1 <eos>``: an expression without brackets modulo 5; ``*`` binds tighter than ``+`` and ``-``.

    Length = numbers. Every number and every sign matters. With ``times`` false there are ``+`` and ``-`` alone, and the
    task is a walk around a cycle.
    """

    summary = "an expression of n numbers modulo 5, without brackets"
    tokens = (numbered("", "modulus"), signs_of, "=")

    modulus: Annotated[int, Field(ge=2, le=10)] = 5
    times: bool = True

    def chance(self, layout: Layout) -> float:
        return 1.0 / self.modulus

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Number i (from 0) and the sign after it have place i + 1; the answer has place 1."""
        n, zero = layout.length, self.vocab["0"]
        x = rng.integers(self.modulus, size=(n, seq.size), dtype=np.int64)
        signs = rng.integers(3 if self.times else 2, size=(n - 1, seq.size), dtype=np.int64)
        seq.bos()
        given = []
        for i in range(n):
            given.append(seq.given(x[i] + zero, place=i + 1))
            if i < n - 1:
                given.append(seq.given(signs[i] + self.vocab["+"], place=i + 1))
        seq.given(self.vocab["="], place=n)
        total, term = np.zeros(seq.size, dtype=np.int64), x[0]
        for i in range(n - 1):
            product = signs[i] == 2
            total = np.where(product, total, total + term)
            term = np.where(product, term * x[i + 1], np.where(signs[i] == 1, -x[i + 1], x[i + 1])) % self.modulus
        seq.predicted((total + term) % self.modulus + zero, place=1, parents=given)
        seq.eos()

    def machine(self) -> Machine | None:
        """Keeps the sum, the product that may go on, and a sign that waits for its number; brackets need more."""
        if "(" in self.vocab.ids:
            return None
        m = self.modulus

        def step(state: tuple[int, int, str], symbol: str) -> tuple[int, int, str] | None:
            total, term, sign = state
            if (symbol in signs_of(self)) == (sign != ""):
                return None
            if sign == "":
                return (total, term, symbol) if symbol == "*" else ((total + term) % m, 0, symbol)
            term = {"+": 1, "-": -1, "*": term}[sign] * int(symbol) % m
            return (total, term, "") if self.times else ((total + term) % m, 0, "")

        alphabet = (*self.vocab.tokens[4 : 4 + m], *signs_of(self))
        value = lambda state: None if state[2] else str((state[0] + state[1]) % m)  # noqa: E731
        return Machine(alphabet, (0, 0, "+"), step, value, symbols=lambda length: 2 * length - 1)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        parts = body(prompt, "=", what := "an expression")
        reject(len(parts) % 2 == 0, f"not {what}")
        total, term = 0, self.digit(parts[0])
        for sign, text in zip(parts[1::2], parts[2::2], strict=True):
            value = self.digit(text)
            reject(sign not in [*signs_of(self)], f"{sign!r} is no sign")
            if sign == "*":
                term *= value
            else:
                total, term = total + term, value if sign == "+" else -value
        return [str((total + term) % self.modulus), EOS]

    def digit(self, text: str) -> int:
        """A number below the modulus; raises `ValueError` for another token."""
        reject(text not in self.vocab.tokens[4 : 4 + self.modulus], f"{text!r} is no number below {self.modulus}")
        return int(text)


@dataclass(frozen=True)
class Brackets(Layout):
    """The brackets of an expression, which are the same in all rows."""

    shape: Shape


def _drawn_shape(low: int, high: int, rng: Rng) -> Shape:
    """Brackets around the numbers low..high-1, each cut uniformly."""
    if high - low == 1:
        return low
    cut = int(rng.integers(low + 1, high))
    return _drawn_shape(low, cut, rng), _drawn_shape(cut, high, rng)


@TASKS.register("modular-arithmetic-brackets")
class BracketedArithmetic(ModularArithmetic):
    """``<bos> ( 3 + ( 4 * 2 ) ) = 1 <eos>``: a fully bracketed expression modulo 5.

    Length = numbers. The brackets are part of the layout: where they are, the same numbers and signs matter.
    """

    summary = "a fully bracketed expression of n numbers modulo 5"
    tokens = (numbered("", "modulus"), signs_of, "(", ")", "x", "=")

    def layout(self, length: int, rng: Rng) -> Brackets:
        return Brackets(length, _drawn_shape(0, length, rng))

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Number i (from 0) has place i + 1 with the brackets and signs after it; brackets before it have 1."""
        assert isinstance(layout, Brackets)
        x = rng.integers(self.modulus, size=(layout.length, seq.size), dtype=np.int64)
        seq.bos()
        value, given = self.expression(seq, layout.shape, x, rng)
        seq.given(self.vocab["="], place=1)
        seq.predicted(value + self.vocab["0"], place=1, parents=given)
        seq.eos()

    def expression(
        self, seq: SequenceBuilder, shape: Shape, x: np.ndarray, rng: Rng, *, hidden: np.ndarray | None = None
    ) -> tuple[np.ndarray, list[int]]:
        """Write an expression; returns its value and the positions of its numbers and signs.

        Where ``hidden`` is the index of a number, ``x`` is written in its place.
        """
        if isinstance(shape, int):
            token = x[shape] + self.vocab["0"]
            shown = token if hidden is None else np.where(hidden == shape, self.vocab["x"], token)
            return x[shape], [seq.given(shown, place=shape + 1)]
        seq.given(self.vocab["("], place=1)
        left, before = self.expression(seq, shape[0], x, rng, hidden=hidden)
        signs = rng.integers(3 if self.times else 2, size=seq.size, dtype=np.int64)
        sign = seq.given(signs + self.vocab["+"], place=1)
        right, after = self.expression(seq, shape[1], x, rng, hidden=hidden)
        seq.given(self.vocab[")"], place=1)
        value = np.choose(signs, [left + right, left - right, left * right]) % self.modulus
        return value, [*before, sign, *after]

    def answer(self, prompt: Sequence[str]) -> list[str]:
        return [str(self.value(body(prompt, "=", "an expression"))), EOS]

    def value(self, text: list[str]) -> int:
        """The value of a bracketed expression; raises `ValueError` for any other text."""
        value, rest = self._read(text)
        reject(len(rest) > 0, "something follows the expression")
        return value

    def _read(self, text: list[str]) -> tuple[int, list[str]]:
        reject(not text, "the expression ends too early")
        if text[0] != "(":
            return self.digit(text[0]), text[1:]
        left, rest = self._read(text[1:])
        reject(not rest or rest[0] not in [*signs_of(self)], "a sign is missing")
        right, after = self._read(rest[1:])
        reject(after[:1] != [")"], "a bracket is not closed")
        found = {"+": left + right, "-": left - right, "*": left * right}[rest[0]] % self.modulus
        return found, after[1:]


@TASKS.register("solve-equation")
class SolveEquation(BracketedArithmetic):
    """``<bos> ( x + ( 4 - 2 ) ) = 1 <sep> 4 <eos>``: the digit for x that makes the equation true modulo 5.

    Length = numbers, x included. Without products every x has one solution.
    """

    summary = "the unknown digit of a bracketed equation modulo 5"
    min_length = 2

    times: bool = False

    def __post_init__(self) -> None:
        reject(self.times, "times must be false: with products an equation may have no solution, or several")

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Places as in the expression; ``=``, its value and the answer have place 1."""
        assert isinstance(layout, Brackets)
        x = rng.integers(self.modulus, size=(layout.length, seq.size), dtype=np.int64)
        unknown = rng.integers(layout.length, size=seq.size, dtype=np.int64)
        seq.bos()
        value, given = self.expression(seq, layout.shape, x, rng, hidden=unknown)
        seq.given(self.vocab["="], place=1)
        result = seq.given(value + self.vocab["0"], place=1)
        seq.sep(place=1)
        solution = x[unknown, np.arange(seq.size)]
        seq.predicted(solution + self.vocab["0"], place=1, parents=[*given, result])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        text = body(prompt, SEP, what := "an equation with one x")
        left, right = text[:-2], text[-2:]
        reject(right[:1] != ["="] or left.count("x") != 1, f"not {what}")
        wanted, at = self.digit(right[1]), left.index("x")
        for digit in range(self.modulus):
            if self.value([*left[:at], str(digit), *left[at + 1 :]]) == wanted:
                return [str(digit), EOS]
        raise ValueError("the equation has no solution")


GroupName = Literal["S3", "A4", "S4", "A5", "S5"]


@cache
def elements(group: GroupName) -> tuple[tuple[int, ...], ...]:
    """The permutations of a symmetric or alternating group, the identity first."""
    degree = int(group[1])
    found = tuple(permutations(range(degree)))
    if group[0] == "S":
        return found
    return tuple(p for p in found if sum(a > b for i, a in enumerate(p) for b in p[i + 1 :]) % 2 == 0)


@cache
def table_of(group: GroupName) -> np.ndarray:
    """The index of the product of two elements, ``[g, g]``: the second one is applied after the first."""
    listed = elements(group)
    index = {permutation: i for i, permutation in enumerate(listed)}
    return np.array([[index[tuple(q[i] for i in p)] for q in listed] for p in listed])


@TASKS.register("group-words")
class GroupWords(Task):
    """``<bos> e3 e1 e4 = e3 e5 e0 <eos>``: the product of the elements read so far; the last one is the answer.

    Length = number of elements of the ``group``, by default S3. Without ``scratchpad`` only the last product is asked
    for, and every element matters; with it, the task is that one `Traced`.
    """

    summary = "the products of n elements of a finite group, one after the other"
    place_rule = "next"
    tokens = (lambda task: [f"e{i}" for i in range(len(elements(task.group)))], "=")

    group: GroupName = "S3"
    scratchpad: bool = True

    def chance(self, layout: Layout) -> float:
        return 1.0 / (len(self.vocab) - 5)

    @cached_property
    def _traced(self) -> Traced:
        return Traced(replace(self, scratchpad=False))

    def machine(self) -> Machine | None:
        names, table = self.vocab.tokens[4:-1], table_of(self.group)
        product = lambda state, element: int(table[state, names.index(element)])  # noqa: E731
        return None if self.scratchpad else Machine(names, 0, product, names.__getitem__)

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Without scratchpad all have place 1."""
        if self.scratchpad:
            self._traced.write(seq, layout, rng)
            return
        table = table_of(self.group)
        x = rng.integers(len(table), size=(layout.length, seq.size), dtype=np.int64)
        given = write_prompt(seq, x + self.vocab["e0"], 1, end="=")
        seq.predicted(reduce(lambda p, q: table[p, q], x) + self.vocab["e0"], place=1, parents=given)
        seq.eos(place=1)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        if self.scratchpad:
            return self._traced.answer(prompt)
        listed = elements(self.group)
        names = {f"e{i}": permutation for i, permutation in enumerate(listed)}
        text = body(prompt, "=", what := "elements followed by =")
        reject(not text or not set(text) <= set(names), f"not {what}")
        product = listed[0]
        for token in text:
            product = tuple(names[token][i] for i in product)
        return [f"e{listed.index(product)}", EOS]


TASKS.alias("group-words-a5", {"name": "group-words", "group": "A5"})


MOVES = ("left", "stay", "right")


@TASKS.register("cycle-navigation")
class CycleNavigation(Task):
    """``<bos> right right stay <sep> 2 <eos>``: the final place on a cycle of 5, from place 0.

    Length = number of moves. Every move matters.
    """

    summary = "the final place of n moves on a cycle of 5"
    tokens = (*MOVES, numbered("", "size"))

    size: Annotated[int, Field(ge=2, le=100)] = 5

    def chance(self, layout: Layout) -> float:
        return 1.0 / min(self.size, 2 * layout.length + 1)

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """All moves share place 1 with the answer; ``<sep>`` has 2."""
        moves = rng.integers(3, size=(layout.length, seq.size))
        given = write_prompt(seq, moves + self.vocab["left"], 1, sep=2)
        seq.predicted((moves - 1).sum(axis=0) % self.size + self.vocab["0"], place=1, parents=given)
        seq.eos()

    def machine(self) -> Machine:
        move = lambda at, symbol: (at + MOVES.index(symbol) - 1) % self.size  # noqa: E731
        return Machine(MOVES, 0, move, str)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        at = 0
        for move in read("repeats", self.vocab, prompt):
            reject(move not in MOVES, f"{move!r} is no move")
            at = (at + MOVES.index(move) - 1) % self.size
        return [str(at), EOS]
