"""Multi-query associative recall: several keys are asked for (after Arora et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import Alphabet1, AtLeast1
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, SEP, Vocab
from lengthwise.tasks.base import TASKS, Task
from lengthwise.tasks.sampling import distinct


@TASKS.register("mqar")
class MultiQueryRecall(Task):
    """``<bos> k3 v1 k0 v4 k7 v2 <sep> k7 k3 <sep> v2 v1 <eos>``: the values of the queried keys, in order.

    Length = key-value pairs, with distinct keys and distinct values; there are ``queries`` distinct queries, and
    at least as many pairs. Both tokens of a pair share a place, and so do the query of its key and its answer.
    """

    summary = "key-value pairs and several keys: the value of each"

    keys: Alphabet1 = 256
    queries: AtLeast1 = 4

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of([*(f"k{i}" for i in range(self.keys)), *(f"v{i}" for i in range(self.keys))])

    def lengths(self, low: int, high: int) -> list[int]:
        """There are at least as many pairs as queries, and keys are distinct."""
        return list(range(max(low, self.queries), min(high, self.keys) + 1))

    def max_length(self) -> int:
        """Keys are distinct."""
        return self.keys

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Pair i (from 0) has place i + 2, and so have its query and answer; ``<sep>`` has 1."""
        n, rows = layout.length, np.arange(seq.size)
        keys = distinct(rng, self.keys, n, seq.size).T + self.vocab["k0"]
        values = distinct(rng, self.keys, n, seq.size).T + self.vocab["v0"]
        wanted = distinct(rng, n, self.queries, seq.size).T
        seq.bos()
        for i in range(n):
            seq.given(keys[i], place=i + 2)
            seq.given(values[i], place=i + 2)
        seq.sep(place=1)
        queries = [seq.given(keys[at, rows], place=at + 2) for at in wanted]
        seq.sep(place=1)
        for query, at in zip(queries, wanted, strict=True):
            seq.predicted(values[at, rows], at + 2, parents=[2 * at + 2], selectors=[query, 2 * at + 1])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """A dictionary."""
        text = list(prompt[1:-1])
        if len(prompt) < 6 or prompt[0] != BOS or prompt[-1] != SEP or text.count(SEP) != 1 or text.index(SEP) % 2:
            raise ValueError("not pairs and queries")
        cut = text.index(SEP)
        keys, values, queries = text[0:cut:2], text[1:cut:2], text[cut + 1 :]
        first_value = self.vocab["v0"]
        if any(not 4 <= self.vocab[key] < first_value for key in keys) or any(
            self.vocab[v] < first_value for v in values
        ):
            raise ValueError("not pairs of a key and a value")
        distinct_ones = len(set(keys)) == len(keys) and len(set(values)) == len(values)
        if not distinct_ones or len(queries) != self.queries or not set(queries) <= set(keys):
            raise ValueError("keys and values must be distinct, and every query one of the keys")
        if len(set(queries)) < len(queries):
            raise ValueError("a key is asked for twice")
        meaning = dict(zip(keys, values, strict=True))
        return [*(meaning[query] for query in queries), EOS]
