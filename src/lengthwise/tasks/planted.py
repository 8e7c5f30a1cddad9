"""The task `planted`: a function of k marked tokens at random places (planted correlations)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property, reduce
from itertools import combinations_with_replacement, pairwise, product
from math import comb
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from jaxtyping import Int
from numpy import ndarray
from pydantic import BeforeValidator, PlainSerializer

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import Alphabet2, AtLeast1, AtLeast2
from lengthwise.core.errors import reject
from lengthwise.core.registry import Registry
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import SPECIALS
from lengthwise.tasks.base import TASKS, Task, body, write_prompt

QUERY = "?"
MARK = "*"

Shapes = tuple[tuple[int, ...], ...]
"""Each the distances of k positions from the first one, such as ``(0, 2, 3)`` for positions 7, 9, 10."""


class Label(ABC):
    """g*: a function from k values in 0..m-1 to a label, which is 0 or above."""

    name: ClassVar[str]

    @abstractmethod
    def __call__(self, values: Int[ndarray, "*B k"]) -> Int[ndarray, "*B"] | np.integer:
        """The labels of words of values."""

    def check(self, k: int, m: int) -> None:
        """Raise `ValueError` if the function is not defined for k values in 0..m-1."""
        del k, m


LABELS: Registry[Label] = Registry("label function")


@LABELS.register("parity")
class ParityLabel(Label):
    """1 if the sum of the values is odd."""

    def __call__(self, values: Int[ndarray, "*B k"]) -> Int[ndarray, "*B"] | np.integer:
        return values.sum(axis=-1) % 2


@LABELS.register("sum_mod")
class SumMod(Label):
    """The sum of the values modulo ``modulus``."""

    modulus: AtLeast2

    def __call__(self, values: Int[ndarray, "*B k"]) -> Int[ndarray, "*B"] | np.integer:
        return values.sum(axis=-1) % self.modulus


@LABELS.register("majority")
class MajorityLabel(Label):
    """The most frequent value; of equally frequent ones the smallest."""

    def __call__(self, values: Int[ndarray, "*B k"]) -> Int[ndarray, "*B"] | np.integer:
        top = int(values.max(initial=0)) + 1
        return (values[..., None] == np.arange(top)).sum(axis=-2).argmax(axis=-1)


@LABELS.register("lookup")
class Lookup(Label):
    """Any function: ``table`` holds the label of each of the m^k words, the last value varying fastest."""

    m: int
    table: tuple[int, ...]

    def __post_init__(self) -> None:
        wrong = self.m < 1 or not self.table or min(self.table) < 0
        reject(wrong, "a lookup table needs m >= 1 values and labels of at least 0")

    def __call__(self, values: Int[ndarray, "*B k"]) -> Int[ndarray, "*B"] | np.integer:
        weight = self.m ** np.arange(values.shape[-1])[::-1]
        return np.asarray(self.table)[(values * weight).sum(axis=-1)]

    def check(self, k: int, m: int) -> None:
        given = f"needs m >= {m} and m^k entries, got {len(self.table)}"
        reject(len(self.table) != self.m**k or m > self.m, f"a lookup of {k} values in 0..{m - 1} {given}")


def positions_anywhere(k: int, length: int, size: int, rng: Rng) -> Int[ndarray, "B k"]:
    """All k-subsets of the positions 0 to length - 1 equally likely, each increasing."""
    keys = rng.random((size, length), dtype=np.float32)
    return np.sort(np.argpartition(keys, k - 1, axis=1)[:, :k], axis=1)


def positions_within(span: int, k: int, length: int, size: int, rng: Rng) -> Int[ndarray, "B k"]:
    """All k-subsets whose last position is at most ``span`` after the first (the paper's L_local) equally likely.

    The first one is drawn by the number of subsets that begin there, then the others from the next ``span``.
    """
    room = np.minimum(span, length - 1 - np.arange(length))
    starts = np.array([comb(int(r), k - 1) for r in room], dtype=np.float64)
    first = rng.choice(length, size=size, p=starts / starts.sum())
    keys = rng.random((size, span))
    keys[np.arange(span) >= room[first][:, None]] = 2.0
    rest = np.argsort(keys, axis=1)[:, : k - 1] + 1
    return np.sort(np.concatenate([np.zeros_like(first)[:, None], rest], axis=1), axis=1) + first[:, None]


def positions_of(shapes: Shapes, length: int, size: int, rng: Rng) -> Int[ndarray, "B k"]:
    """One of the shapes that fit, equally likely, wherever it fits."""
    fitting = np.asarray([shape for shape in shapes if shape[-1] < length])
    chosen = fitting[rng.integers(len(fitting), size=size)]
    return chosen + rng.integers(length - chosen[:, -1])[:, None]


def positions_strided(k: int, length: int, size: int, rng: Rng) -> Int[ndarray, "B k"]:
    """The same position in each of k equal blocks."""
    return rng.integers(length // k, size=size)[:, None] + np.arange(0, length, length // k)


@TASKS.register("planted")
class PlantedTask(Task):
    """``<bos> 1 0* 1 1* 0 ? 1``: g* of the k marked tokens, in their order, read at the query; no end token.

    Length = number of tokens before the query. Noise is uniform over ``values`` symbols 0, 1, …; marked tokens are
    uniform over as many, 0*, 1*, …. ``placement`` says where they stand: ``uniform``, any k of the positions (or k of
    them within ``span``); ``strided``, the same place of each of k equal blocks; or shapes such as ``[[0, 1, 4]]``,
    offsets from the first one. ``label`` is g*: parity, majority, ``{"name": "sum_mod", "modulus": 3}`` or
    ``{"name": "lookup", "m": 2, "table": [0, 1, 1, 1]}``.
    """

    summary = "a function g* of k marked tokens among noise (planted correlations)"
    # Symbols, as many as values or labels, marked symbols, the query.
    tokens = (
        lambda task: map(str, range(max(task.values, max(task._labels_attained) + 1))),
        lambda task: (f"{value}{MARK}" for value in range(task.values)),
        QUERY,
    )

    k: AtLeast1 = 2
    values: Alphabet2 = 2
    span: int | None = None
    placement: Literal["uniform", "strided"] | Shapes = "uniform"
    label: Annotated[Label, BeforeValidator(LABELS.build), PlainSerializer(LABELS.describe)] = ParityLabel()

    def __post_init__(self) -> None:
        if self.span is not None:
            reject(self.placement != "uniform", "a span goes with placement uniform only; leave one of the two out")
            reject(self.span < self.k - 1, f"{self.k} marked tokens need span {self.k - 1} or more, got {self.span}")
        for shape in self.placement if isinstance(self.placement, tuple) else ():
            reject(len(shape) != self.k, f"shapes need k = {self.k} offsets each, got {list(shape)}")
            increases = shape[0] == 0 and all(a < b for a, b in pairwise(shape))
            reject(not increases, f"a shape starts at 0 and increases, got {list(shape)}")
        reject(self.placement == (), "placement needs one shape or more; write e.g. [[0, 1]]")
        constant = len(set(self._labels_attained)) < 2
        reject(constant, "g* is constant: there is nothing to learn; use another label")

    @cached_property
    def _labels_attained(self) -> tuple[int, ...]:
        """The labels that some word of marked tokens has."""
        self.label.check(self.k, self.values)
        # All but a lookup are symmetric, so one order of each word tells.
        every = product(range(self.values), repeat=self.k)
        words = every if isinstance(self.label, Lookup) else combinations_with_replacement(range(self.values), self.k)
        return tuple(np.unique(self.label(np.array(list(words)))).tolist())

    @cached_property
    def _decisive(self) -> tuple[int, ...]:
        """Which of the k marked tokens g* depends on: all of them, except where a lookup ignores some."""
        if not isinstance(self.label, Lookup):
            # Symmetric and not constant: if it depends on one, it depends on all.
            return tuple(range(self.k))
        words = np.array(list(product(range(self.values), repeat=self.k)))
        table = self.label(words).reshape((self.values,) * self.k)
        return tuple(i for i in range(self.k) if (np.diff(table, axis=i) != 0).any())

    def lengths(self, low: int, high: int) -> list[int]:
        """The lengths in which the marked tokens have room."""
        shortest = self.k
        if isinstance(self.placement, tuple):
            shortest = 1 + min(shape[-1] for shape in self.placement)
        step = self.k if self.placement == "strided" else 1
        return [n for n in range(max(low, shortest), high + 1) if n % step == 0]

    def chance(self, layout: Layout) -> float:
        return 1 / len(self._labels_attained)

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Marked tokens, query and answer share place 1; noise has none."""
        length = layout.length
        where = self._positions(length, seq.size, rng)
        words = rng.integers(self.values, size=(seq.size, self.k))
        edges = np.cumsum(np.full(self.values, 1 / self.values))
        # The last edge is 1 up to rounding.
        noise = np.minimum(np.searchsorted(edges, rng.random((seq.size, length)), side="right"), self.values - 1)
        tokens, is_marked = noise + len(SPECIALS), np.zeros(noise.shape, dtype=np.int64)
        np.put_along_axis(tokens, where, words + self.vocab[f"0{MARK}"], axis=1)
        np.put_along_axis(is_marked, where, 1, axis=1)
        given = write_prompt(seq, tokens.T, is_marked.T, end=QUERY)
        parents: list[Any] = [where[:, i] + given[0] for i in self._decisive]
        # Where all tokens are marked, content chooses nothing.
        selectors = [] if length == self.k else given
        seq.predicted(self.label(words) + len(SPECIALS), place=1, parents=parents, selectors=selectors)

    def _positions(self, length: int, size: int, rng: Rng) -> Int[ndarray, "B k"]:
        if isinstance(self.placement, tuple):
            return positions_of(self.placement, length, size, rng)
        if self.placement == "strided":
            return positions_strided(self.k, length, size, rng)
        if self.span is not None:
            return positions_within(self.span, self.k, length, size, rng)
        return positions_anywhere(self.k, length, size, rng)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Read the marked tokens and apply g* in plain Python."""
        text = body(prompt, QUERY, what := "a string between <bos> and a query")
        reject(not text, f"not {what}")
        symbols = {str(value) for value in range(self.values)}
        known = all(token.removesuffix(MARK) in symbols for token in text)
        reject(not known, "a token is not in the vocabulary of the task")
        where = [i for i, token in enumerate(text) if token.endswith(MARK)]
        allowed = len(where) == self.k and self._allowed(where, len(text))
        reject(not allowed, f"the marked tokens are not {self.k} in an allowed place")
        return [str(self._solve([int(text[i].removesuffix(MARK)) for i in where]))]

    def _allowed(self, where: list[int], length: int) -> bool:
        offsets = tuple(i - where[0] for i in where)
        if isinstance(self.placement, tuple):
            return offsets in self.placement
        if self.placement == "strided":
            return length % self.k == 0 and offsets == tuple(range(0, length, length // self.k))
        return self.span is None or offsets[-1] <= self.span

    def _solve(self, word: list[int]) -> int:
        match self.label:
            case ParityLabel():
                return sum(word) % 2
            case SumMod(modulus=modulus):
                return sum(word) % modulus
            case MajorityLabel():
                return max(sorted(set(word)), key=word.count)
            case Lookup(m=m, table=table):
                return table[reduce(lambda index, value: m * index + value, word)]
        return int(self.label(np.array(word)))
