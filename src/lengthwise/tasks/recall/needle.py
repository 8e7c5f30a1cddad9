"""Needles in a haystack: key-value pairs among noise, looked up once or along a chain, at the level of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import Alphabet1, AtLeast1
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, SEP, Vocab
from lengthwise.tasks.base import TASKS, Task
from lengthwise.tasks.sampling import distinct, shuffles


@TASKS.register("needle")
class Needle(Task):
    """``<bos> n3 k1 k5 n0 k5 v2 n7 <sep> k1 <sep> v2 <eos>``: k1 leads to k5, and k5 to the value v2.

    Length = tokens of noise. Among them are ``needles`` chains of ``hops`` pairs, at random places and in random order;
    the first key of one of them is asked for. One hop with several needles is multi-key retrieval, several hops are
    multi-hop retrieval. Both tokens of a pair share a place with the query or the answer that they lead to.
    """

    summary = "key-value pairs among n tokens of noise: the value of one key, after one hop or several"

    needles: AtLeast1 = 4
    hops: AtLeast1 = 1
    noise: Alphabet1 = 64
    keys: Alphabet1 = 64

    def __post_init__(self) -> None:
        if self.needles * self.hops > self.keys:
            raise ValueError(f"needles · hops must be at most keys = {self.keys}, got {self.needles * self.hops}")

    @cached_property
    def vocab(self) -> Vocab:
        names = (("n", self.noise), ("k", self.keys), ("v", self.keys))
        return Vocab.of([f"{letter}{i}" for letter, count in names for i in range(count)])

    def chance(self, layout: Layout) -> float:
        return 1.0 / self.needles

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Noise and ``<sep>`` have place 1; pair i by order in the string (from 0) has i + 2, and so has its answer."""
        n, pairs, rows = layout.length, self.needles * self.hops, np.arange(seq.size)
        keys = distinct(rng, self.keys, pairs, seq.size) + self.vocab["k0"]
        values = distinct(rng, self.keys, self.needles, seq.size) + self.vocab["v0"]
        # Pair c · hops + h is step h of chain c; it leads to the next key of its chain, or to a value.
        targets = np.roll(keys, -1, axis=1)
        targets[:, self.hops - 1 :: self.hops] = values
        order = shuffles(rng, pairs, seq.size)
        slots = np.sort(rng.integers(n + 1, size=(seq.size, pairs)), axis=1)
        at_first = slots + 2 * np.arange(pairs)
        tokens = rng.integers(self.noise, size=(seq.size, n + 2 * pairs), dtype=np.int64) + self.vocab["n0"]
        places = np.ones_like(tokens)
        for offset, content in ((0, keys), (1, targets)):
            np.put_along_axis(tokens, at_first + offset, np.take_along_axis(content, order, axis=1), axis=1)
            np.put_along_axis(places, at_first + offset, np.broadcast_to(np.arange(2, pairs + 2), order.shape), axis=1)
        seq.bos()
        seq.givens(np.ascontiguousarray(tokens.T), place=np.ascontiguousarray(places.T))
        seq.sep(place=1)
        rank = np.argsort(order, axis=1)
        wanted = rng.integers(self.needles, size=seq.size) * self.hops
        query = seq.given(keys[rows, wanted], place=rank[rows, wanted] + 2)
        seq.sep(place=1)
        followed = [at_first[rows, rank[rows, wanted + hop]] + 1 for hop in range(self.hops)]
        selectors = [query, *(at + step for at in followed for step in (0, 1))][:-1]
        last = wanted + self.hops - 1
        seq.predicted(
            targets[rows, last], rank[rows, last] + 2, parents=[followed[-1] + 1], selectors=selectors
        )  # fmt: skip
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Follow a dictionary from key to key."""
        body = list(prompt[1:-3])
        if len(prompt) < 6 or prompt[0] != BOS or prompt[-1] != SEP or prompt[-3] != SEP:
            raise ValueError("not a haystack, <sep>, a key and <sep>")
        first_key, first_value = self.vocab["k0"], self.vocab["v0"]
        meaning, at = {}, 0
        while at < len(body):
            if self.vocab[body[at]] >= first_key:
                if at + 1 == len(body) or body[at] in meaning or not first_key <= self.vocab[body[at]] < first_value:
                    raise ValueError("not pairs with keys of their own")
                meaning[body[at]] = body[at + 1]
                at += 1
            at += 1
        name, hops = prompt[-2], 0
        while name in meaning and hops <= self.hops:
            name, hops = meaning[name], hops + 1
        if self.vocab[name] < first_value or hops != self.hops or len(meaning) != self.needles * self.hops:
            raise ValueError("the query leads to no value")
        return [name, EOS]


TASKS.alias("needle-multi-hop", {"name": "needle", "needles": 2, "hops": 3})
