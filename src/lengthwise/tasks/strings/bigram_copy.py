"""Copying of a string in which no two neighbours occur twice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Annotated

import numpy as np
from pydantic import Field

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS, Vocab
from lengthwise.tasks.base import TASKS, Task
from lengthwise.tasks.sampling import symbol_names
from lengthwise.tasks.string_task import read


@TASKS.register("unique-bigram-copy")
class UniqueBigramCopy(Task):
    """``<bos> a b a c <sep> a b a c <eos>``: symbols repeat, but no pair of neighbours does.

    Length = number of symbols. Two symbols say where the copy is. A symbol and its copy share a place. Strings are
    walks: the next symbol is uniform among those that make a new pair, and a walk that has none starts again.
    """

    summary = "a string in which no pair of neighbours occurs twice, then the same string"

    letters: Annotated[int, Field(ge=2, le=26)] = 12

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of(symbol_names(self.letters))

    def max_length(self) -> int:
        """Half of all pairs: longer walks often end too early."""
        return self.letters**2 // 2

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 0) and its copy have place i + 2, ``<sep>`` has 1."""
        n = layout.length
        x = _walks(self.letters, n, seq.size, rng) + 4
        seq.bos()
        given = seq.givens(x, place=np.arange(2, n + 2))
        seq.sep(place=1)
        for i in range(n):
            seq.predicted(x[i], place=i + 2, parents=[given[i]])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """The string again."""
        string = read("repeats", self.vocab, prompt)
        pairs = list(pairwise(string))
        if len(set(pairs)) < len(pairs):
            raise ValueError("a pair of neighbours occurs twice")
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
