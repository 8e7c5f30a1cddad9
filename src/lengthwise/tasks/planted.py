"""The task `planted`: a function of k marked tokens; `sparsity/planted.py` defines the data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from itertools import combinations_with_replacement, pairwise, product
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, PlainSerializer

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import Alphabet2, AtLeast1
from lengthwise.core.errors import reject
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import SPECIALS
from lengthwise.sparsity.planted import (
    LABELS,
    FixedOffsets,
    Label,
    Lookup,
    MajorityLabel,
    ParityLabel,
    Planted,
    Strided,
    SumMod,
)
from lengthwise.tasks.base import TASKS, Task, body

QUERY = "?"
MARK = "*"

Shapes = tuple[tuple[int, ...], ...]


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
    def distribution(self) -> Planted:
        """The planted distribution of the strings."""
        placement = None if self.placement == "uniform" else Strided(self.k)
        if isinstance(self.placement, tuple):
            placement = FixedOffsets(self.placement)
        return Planted.marked(self.k, span=self.span, values=self.values, label=self.label, placement=placement)

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
        sample = self.distribution.sample(seq.size, layout.length, rng)
        # The distribution's tokens are noise 0..m-1 and marked m..2m-1; here the labels' symbols lie between the two.
        is_marked = sample.tokens >= self.values
        first = self.vocab[f"0{MARK}"] - self.values
        tokens = np.where(is_marked, sample.tokens + first, sample.tokens + len(SPECIALS))
        seq.bos()
        given = seq.givens(tokens.T, place=is_marked.T.astype(np.int64))
        seq.given(self.vocab[QUERY], place=1)
        parents: list[Any] = [sample.relevant[:, i] + given[0] for i in self._decisive]
        # Where all tokens are marked, content chooses nothing.
        selectors = [] if layout.length == self.k else given
        seq.predicted(sample.labels + len(SPECIALS), place=1, parents=parents, selectors=selectors)

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
        return int(self.distribution.label(np.array([word]))[0])
