"""Word problems of finite groups: the product of a sequence of elements, with or without the products before it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import permutations
from typing import Literal

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, Vocab
from lengthwise.tasks.base import TASKS, Task

GroupName = Literal["S3", "A4", "S4", "A5", "S5"]


def elements(group: GroupName) -> list[tuple[int, ...]]:
    """The permutations of a symmetric or alternating group, the identity first."""
    degree = int(group[1])
    found = list(permutations(range(degree)))
    return found if group[0] == "S" else [p for p in found if _is_even(p)]


def _is_even(permutation: tuple[int, ...]) -> bool:
    inversions = sum(a > b for i, a in enumerate(permutation) for b in permutation[i + 1 :])
    return inversions % 2 == 0


def table_of(group: GroupName) -> np.ndarray:
    """The index of the product of two elements, ``[g, g]``: the second one is applied after the first."""
    listed = elements(group)
    index = {permutation: i for i, permutation in enumerate(listed)}
    return np.array([[index[tuple(q[i] for i in p)] for q in listed] for p in listed])


@TASKS.register("group-words")
class GroupWords(Task):
    """``<bos> e3 e1 e4 = e3 e5 e0 <eos>``: the product of the elements read so far; the last one is the answer.

    Length = number of elements of the ``group``, by default S3. Without ``scratchpad`` only the last product is asked
    for, and every element matters. As in `parity-scratchpad`, element i and the product before it share a place.
    """

    summary = "the products of n elements of a finite group, one after the other"
    place_rule = "next"

    group: GroupName = "S3"
    scratchpad: bool = True

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of([*(f"e{i}" for i in range(len(elements(self.group)))), "="])

    def chance(self, layout: Layout) -> float:
        return 1.0 / (len(self.vocab) - 5)

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Element i (from 1) has place i, ``=`` has 1, product i has i + 1; without scratchpad all have place 1."""
        n, zero, table = layout.length, self.vocab["e0"], table_of(self.group)
        x = rng.integers(len(table), size=(n, seq.size), dtype=np.int64)
        seq.bos()
        given = seq.givens(x + zero, place=np.arange(1, n + 1) if self.scratchpad else 1)
        seq.given(self.vocab["="], place=1)
        product, before = np.zeros(seq.size, dtype=np.int64), list[int]()
        for i in range(n):
            product = table[product, x[i]]
            if self.scratchpad:
                parents = [given[i], *before]
                before = [seq.predicted(product + zero, place=i + 2, parents=parents, answer=i == n - 1)]
        if not self.scratchpad:
            seq.predicted(product + zero, place=1, parents=given)
        seq.eos(place=n + 2 if self.scratchpad else 1)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Apply the permutations one after the other."""
        listed = elements(self.group)
        names = {f"e{i}": permutation for i, permutation in enumerate(listed)}
        if len(prompt) < 3 or prompt[0] != BOS or prompt[-1] != "=" or not set(prompt[1:-1]) <= set(names):
            raise ValueError("not elements followed by =")
        product, trace = listed[0], []
        for token in prompt[1:-1]:
            product = tuple(names[token][i] for i in product)
            trace.append(f"e{listed.index(product)}")
        return [*(trace if self.scratchpad else trace[-1:]), EOS]


TASKS.alias("group-words-a5", {"name": "group-words", "group": "A5"})
