"""Parity of k marked bits among noise (planted correlations, after Golowich et al. 2025)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import AtLeast1
from lengthwise.core.errors import require
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, Vocab
from lengthwise.tasks.base import TASKS, Task
from lengthwise.tasks.sampling import distinct

QUERY = "?"


@dataclass(frozen=True)
class SparseParityLayout(Layout):
    """A fixed number of marked bits.

    ``min_ones`` None: fair bits. Otherwise both answers are equally likely, and then every number of marked ones of
    that parity from ``min_ones`` to k: 0 balances the counts, k_max + 1 gives more ones than any training sample has.
    """

    k: int
    min_ones: int | None = None

    @property
    def axes(self) -> dict[str, int]:
        """k, and the least number of ones where it is set."""
        return {"k": self.k} if self.min_ones is None else {"k": self.k, "min_ones": self.min_ones}


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

    k_max: AtLeast1 = 4
    span: int | None = None
    k_test: tuple[AtLeast1, ...] = ()
    balanced: bool = False

    def __post_init__(self) -> None:
        largest = max(self.k_max, *self.k_test) if self.k_test else self.k_max
        if self.span is not None and self.span + 1 < largest:
            raise ValueError(f"{largest} marked bits need span {largest - 1} or more, got {self.span}")

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of(["0", "1", "0*", "1*", QUERY])

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
        seq.bos()
        given = seq.givens(tokens, place=places)
        seq.given(self.vocab[QUERY], place=1)
        positions = np.where(used, marked + given[0], -1)
        parents: list[Any] = list(np.sort(positions, axis=1)[:, ::-1].T)
        seq.predicted(answer + self.vocab["0"], place=1, parents=parents, selectors=given)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        bits = list(prompt[1:-1])
        if len(prompt) < 3 or prompt[0] != BOS or prompt[-1] != QUERY or not set(bits) <= {"0", "1", "0*", "1*"}:
            raise ValueError("not a string of bits with marks and a query")
        if not any(bit.endswith("*") for bit in bits):
            raise ValueError("no bit is marked")
        return [str(bits.count("1*") % 2)]


def _ones(rng: Rng, rows: int, low: int, high: int) -> Int[ndarray, " rows"]:
    """Numbers in ``low..high``, both parities equally likely and every number of one parity too."""
    require(low <= high, f"{high} marked bits can't hold {low} ones; use k of {low} or more")
    choices = [np.arange(low, high + 1, 2), np.arange(low + 1, high + 1, 2)]
    choices = [choice for choice in choices if len(choice)]
    which = rng.integers(len(choices), size=rows)
    picks = np.stack([rng.choice(choice, size=rows) for choice in choices])
    return picks[which, np.arange(rows)]
