"""Pointer value retrieval: a pointer chooses a window of values to add (after Zhang et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import Alphabet1
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, SEP, Vocab
from lengthwise.tasks.base import TASKS, Task


@TASKS.register("pointer-value-retrieval")
class PointerValueRetrieval(Task):
    """``<bos> p1 4 7 2 <sep> 7 <eos>``: the value that the pointer names, counted from p0.

    Length = number of values, each 0 to 9; there are ``pointers`` pointers. With a larger ``window`` the answer is the
    sum modulo 10 of so many values from there, around the end.
    """

    summary = "a pointer and n values: the value that it points to"

    window: int = 1
    pointers: Alphabet1 = 200

    def __post_init__(self) -> None:
        if not 1 <= self.window <= self.pointers:
            raise ValueError(f"window must be in 1..pointers = {self.pointers}, got {self.window}")

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of([*map(str, range(10)), *(f"p{i}" for i in range(self.pointers))])

    def lengths(self, low: int, high: int) -> list[int]:
        """From a window of values to as many as there are pointers."""
        return list(range(max(low, self.window), min(high, self.pointers) + 1))

    def chance(self, layout: Layout) -> float:
        return 0.1

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Value i (from 0) has place i + 2 and so has the answer that starts there; pointer and ``<sep>`` have 1."""
        n, rows = layout.length, np.arange(seq.size)
        x = rng.integers(10, size=(n, seq.size), dtype=np.int64)
        pointer = rng.integers(n, size=seq.size, dtype=np.int64)
        seq.bos()
        named = seq.given(pointer + self.vocab["p0"], place=1)
        given = seq.givens(x + self.vocab["0"], place=np.arange(2, n + 2))
        seq.sep(place=1)
        chosen = [(pointer + offset) % n for offset in range(self.window)]
        total = sum((x[at, rows] for at in chosen), start=np.zeros(seq.size, dtype=np.int64)) % 10
        parents = [at + given[0] for at in chosen]
        seq.predicted(total + self.vocab["0"], place=pointer + 2, parents=parents, selectors=[named])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Index the list of values."""
        if len(prompt) < 4 or prompt[0] != BOS or prompt[-1] != SEP:
            raise ValueError("not a pointer and values")
        pointer, values = self.vocab[prompt[1]] - self.vocab["p0"], list(prompt[2:-1])
        if not set(values) <= set("0123456789") or not 0 <= pointer < len(values) or len(values) < self.window:
            raise ValueError("not a pointer to one of the values")
        chosen = (values[(pointer + offset) % len(values)] for offset in range(self.window))
        return [str(sum(map(int, chosen)) % 10), EOS]
