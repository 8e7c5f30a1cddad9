"""Recall of something read before: induction, retrieval, pointers, needles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import Alphabet1, Alphabet2, AtLeast1, Share
from lengthwise.core.errors import reject
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, SEP
from lengthwise.tasks.base import (
    TASKS,
    AxesLayout,
    DistinctSymbols,
    Task,
    body,
    distinct,
    draw,
    inverse,
    letters_of,
    numbered,
    read,
    shuffles,
    write_prompt,
)


@TASKS.register("induction")
class Induction(DistinctSymbols):
    """``<bos> c a d b <sep> a d <eos>``: distinct symbols, one of them again, and what came after it.

    Length = number of distinct symbols. The queried one is uniform among all but the last.
    """

    summary = "distinct symbols and one of them again: which came after it?"
    min_length = 2

    letters: Alphabet2 = 150

    def chance(self, layout: Layout) -> float:
        """One of the symbols that come after another."""
        return 1.0 / (layout.length - 1)

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 0) has place i + 2, and so have its later copies; ``<sep>`` has 1."""
        n, every_row = layout.length, np.arange(seq.size)
        x = draw("distinct", self.vocab, n, seq.size, rng)
        queried = rng.integers(n - 1, size=seq.size, dtype=np.int64)
        given = write_prompt(seq, x, np.arange(2, n + 2))
        query = seq.given(x[queried, every_row], place=queried + 2)
        found = queried + 1 + given[0]
        seq.predicted(x[queried + 1, every_row], place=queried + 3, parents=[found], selectors=[query, found - 1])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        string = body(prompt[:-1], SEP, what := "a string, <sep> and a symbol")
        reject(len(string) < 2 or any(self.vocab[symbol] < 4 for symbol in string), f"not {what}")
        after = dict(pairwise(string))
        known = len(set(string)) == len(string) and prompt[-1] in after
        reject(not known, "not distinct symbols and one of them that has a next one")
        return [after[prompt[-1]], EOS]


MARKER = "!"


@TASKS.register("retrieval")
class Retrieval(Task):
    """``<bos> b a ! c <sep> c <eos>``: the letter after (or before) the marker, which occurs once.

    Length = letters and marker. Letters are iid. Each answer depends on one token, which the marker chooses.
    """

    summary = "the letter before or after a unique marker"
    min_length = 2
    tokens = (letters_of, MARKER)

    side: Literal["after", "before"] = "after"
    letters: Alphabet1 = 26

    def chance(self, layout: Layout) -> float:
        """One of the letters that there is room for."""
        return 1.0 / min(self.letters, layout.length - 1)

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Token i (from 0) has place i + 2, the answer that of the letter it copies; ``<sep>`` has 1."""
        n, every_row = layout.length, np.arange(seq.size)
        x = rng.integers(self.letters, size=(n, seq.size), dtype=np.int64) + 4
        # The first token has nothing before it, the last one nothing after it.
        marker = rng.integers(n - 1, size=seq.size, dtype=np.int64) + (self.side == "before")
        x[marker, every_row] = self.vocab[MARKER]
        found = marker + (1 if self.side == "after" else -1)
        given = write_prompt(seq, x, np.arange(2, n + 2))
        seq.predicted(x[found, every_row], place=found + 2, parents=[found + given[0]], selectors=[marker + given[0]])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        string = read("repeats", self.vocab, prompt)
        reject(string.count(MARKER) != 1, "the marker must occur once")
        at = string.index(MARKER)
        rest = string[at + 1 :] if self.side == "after" else string[:at][::-1]
        reject(not rest, f"nothing is {self.side} the marker")
        return [rest[0], EOS]


@TASKS.register("flip-flop")
class FlipFlop(Task):
    """``<bos> w 1 i 0 r 1 i 1 r 1 <eos>``: write, ignore, read; what is read is the bit written last.

    Length = pairs of instruction and bit; the first one writes, the last one reads, and its bit is the answer. In
    between an instruction is ``i`` with probability ``ignore``, else ``w`` or ``r``. Earlier reads show the right bit.
    """

    summary = "the bit written last, among bits to ignore"
    guess = 0.5
    tokens = ("0", "1", "w", "r", "i")
    min_length = 2

    ignore: Share = 0.8

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Both tokens of pair i (from 0) have place i + 1."""
        n, rows = layout.length, seq.size
        w, r, i = (self.vocab[name] for name in "wri")
        u = rng.random((n, rows))
        instruction = np.where(u < self.ignore, i, np.where(u < (1 + self.ignore) / 2, w, r))
        instruction[0], instruction[-1] = w, r
        drawn = rng.integers(2, size=(n, rows), dtype=np.int64)
        written = np.maximum.accumulate(np.where(instruction == w, np.arange(n)[:, None], 0), axis=0)
        bits = np.where(instruction == r, np.take_along_axis(drawn, written, axis=0), drawn) + 4
        seq.bos()
        instructions = []
        for step in range(n):
            instructions.append(seq.given(instruction[step], place=step + 1))
            if step < n - 1:
                seq.given(bits[step], place=step + 1)
        seq.predicted(bits[-1], place=n, parents=[2 * written[-1] + 2], selectors=instructions)
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        steps, bits = list(prompt[1::2]), list(prompt[2::2])
        ends = len(prompt) > 3 and prompt[0] == BOS and steps[0] == "w" and prompt[-1] == "r"
        reject(not ends or len(steps) != len(bits) + 1, "not pairs that start with a write and end with a read")
        memory = ""
        for step, bit in zip(steps, bits, strict=False):
            memory = bit if step == "w" else memory
            fits = step in ("w", "r", "i") and bit in ("0", "1") and (step != "r" or bit == memory)
            reject(not fits, "not pairs of an instruction and a bit that fits it")
        return [memory, EOS]


QUERY, ONE = "?", "1"


@dataclass(frozen=True)
class Queried(AxesLayout):
    """The clause of the chain whose variable is asked for, from 1: how many clauses lead to the answer."""

    depth: int


@TASKS.register("lego")
class Lego(Task):
    """``<bos> b - a a + 1 ? b - <eos>``: a is +1 and b is -a, so that b is -.

    Length = clauses ``variable sign variable``, which form one chain from ``1``, in random order unless ``ordered``. A
    variable of the second half of the chain is asked for: its sign depends on the signs up to it, which names choose.
    The tokens of a clause share a place.
    """

    summary = "a chain of signed variables in shuffled clauses: the sign of one"
    guess = 0.5
    tokens = (numbered("x", "variables"), ONE, "+", "-", QUERY)

    variables: Alphabet1 = 100
    ordered: bool = False

    def max_length(self) -> int:
        return self.variables

    def layout(self, length: int, rng: Rng) -> Queried:
        return Queried(length, int(rng.integers(length // 2 + 1, length + 1)))

    def test_layouts(self, length: int) -> list[Layout]:
        return [Queried(length, length)]

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Clause r of the string (from 0) has place r + 2, and so have its query and answer; ``?`` has 1."""
        assert isinstance(layout, Queried)
        n, rows = layout.length, seq.size
        child = distinct(rng, self.variables, n, rows) + self.vocab["x0"]
        parent = np.concatenate([np.full((rows, 1), self.vocab[ONE]), child[:, :-1]], axis=1)
        signs = rng.integers(2, size=(rows, n), dtype=np.int64)
        in_clause = np.broadcast_to(np.arange(n), (rows, n)) if self.ordered else shuffles(rng, n, rows)
        line = inverse(in_clause)
        seq.bos()
        for r in range(n):
            for content in (child, signs + self.vocab["+"], parent):
                seq.given(content[np.arange(rows), in_clause[:, r]], place=r + 2)
        seq.given(self.vocab[QUERY], place=1)
        last = line[:, layout.depth - 1]
        query = seq.given(child[:, layout.depth - 1], place=last + 2)
        first = [3 * line[:, step] + 1 for step in range(layout.depth)]
        selectors = [query, *(at for start in first for at in (start, start + 2))]
        found = signs[:, : layout.depth].sum(axis=1) % 2 + self.vocab["+"]
        seq.predicted(found, last + 2, parents=[start + 1 for start in first], selectors=selectors)
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        text = body(prompt[:-1], QUERY, what := "clauses followed by ? and a variable")
        reject(not text or len(text) % 3 > 0, f"not {what}")
        children, signs = text[::3], text[1::3]
        meaning = dict(zip(children, zip(signs, text[2::3], strict=True), strict=True))
        own = len(meaning) == len(children) and set(signs) <= {"+", "-"} and ONE not in meaning
        reject(not own, "every clause defines a variable of its own by a sign")
        name, minus, steps = prompt[-1], 0, 0
        reject(name not in meaning, "the query is no variable")
        while name != ONE:
            reject(name not in meaning or steps > len(meaning), f"{name} leads to no value")
            sign, name = meaning[name]
            minus, steps = minus + (sign == "-"), steps + 1
        return ["-" if minus % 2 else "+", EOS]


@TASKS.register("mqar")
class MultiQueryRecall(Task):
    """``<bos> k3 v1 k0 v4 k7 v2 <sep> k7 k3 <sep> v2 v1 <eos>``: the values of the queried keys, in order.

    Length = key-value pairs, with distinct keys and distinct values; there are ``queries`` distinct queries, and
    at least as many pairs. Both tokens of a pair share a place, and so do the query of its key and its answer.
    """

    summary = "key-value pairs and several keys: the value of each"
    tokens = (numbered("k", "keys"), numbered("v", "keys"))

    keys: Alphabet1 = 256
    queries: AtLeast1 = 4

    def lengths(self, low: int, high: int) -> list[int]:
        """There are at least as many pairs as queries, and keys are distinct."""
        return list(range(max(low, self.queries), min(high, self.keys) + 1))

    def max_length(self) -> int:
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
        text = body(prompt, SEP, what := "pairs and queries")
        reject(len(text) < 4 or text.count(SEP) != 1 or text.index(SEP) % 2 > 0, f"not {what}")
        cut = text.index(SEP)
        keys, values, queries = text[0:cut:2], text[1:cut:2], text[cut + 1 :]
        first = self.vocab["v0"]
        pairs = all(4 <= self.vocab[key] < first for key in keys) and all(self.vocab[v] >= first for v in values)
        reject(not pairs, "not pairs of a key and a value")
        distinct_ones = len(set(keys)) == len(keys) and len(set(values)) == len(values)
        known = len(queries) == self.queries and set(queries) <= set(keys)
        reject(not distinct_ones or not known, "keys and values must be distinct, and every query one of the keys")
        reject(len(set(queries)) < len(queries), "a key is asked for twice")
        meaning = dict(zip(keys, values, strict=True))
        return [*(meaning[query] for query in queries), EOS]


@TASKS.register("needle")
class Needle(Task):
    """``<bos> n3 k1 k5 n0 k5 v2 n7 <sep> k1 <sep> v2 <eos>``: k1 leads to k5, and k5 to the value v2.

    Length = tokens of noise. Among them are ``needles`` chains of ``hops`` pairs, at random places and in random order;
    the first key of one of them is asked for. One hop with several needles is multi-key retrieval, several hops are
    multi-hop retrieval. Both tokens of a pair share a place with the query or the answer that they lead to.
    """

    summary = "key-value pairs among n tokens of noise: the value of one key, after one hop or several"
    tokens = (numbered("n", "noise"), numbered("k", "keys"), numbered("v", "keys"))

    needles: AtLeast1 = 4
    hops: AtLeast1 = 1
    noise: Alphabet1 = 64
    keys: Alphabet1 = 64

    def __post_init__(self) -> None:
        pairs = self.needles * self.hops
        reject(pairs > self.keys, f"needles · hops must be at most keys = {self.keys}, got {pairs}")

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
        seq.predicted(targets[rows, last], rank[rows, last] + 2, [followed[-1] + 1], selectors)
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        text = body(prompt, SEP, what := "a haystack, <sep>, a key and <sep>")
        hay, asked = text[:-2], text[-2:]
        reject(len(hay) < 2 or asked[0] != SEP, f"not {what}")
        first_key, first_value = self.vocab["k0"], self.vocab["v0"]
        meaning, at = {}, 0
        while at < len(hay):
            if self.vocab[hay[at]] >= first_key:
                new = at + 1 < len(hay) and hay[at] not in meaning and self.vocab[hay[at]] < first_value
                reject(not new, "not pairs with keys of their own")
                meaning[hay[at]] = hay[at + 1]
                at += 1
            at += 1
        name, hops = asked[1], 0
        while name in meaning and hops <= self.hops:
            name, hops = meaning[name], hops + 1
        led = self.vocab[name] >= first_value and hops == self.hops and len(meaning) == self.needles * self.hops
        reject(not led, "the query leads to no value")
        return [name, EOS]


TASKS.alias("needle-multi-hop", {"name": "needle", "needles": 2, "hops": 3})


@TASKS.register("pointer-value-retrieval")
class PointerValueRetrieval(Task):
    """``<bos> p1 4 7 2 <sep> 7 <eos>``: the value that the pointer names, counted from p0.

    Length = number of values, each 0 to 9; there are ``pointers`` pointers. With a larger ``window`` the answer is the
    sum modulo 10 of so many values from there, around the end.
    """

    summary = "a pointer and n values: the value that it points to"
    guess = 0.1
    tokens = (*"0123456789", numbered("p", "pointers"))

    window: int = 1
    pointers: Alphabet1 = 200

    def __post_init__(self) -> None:
        within = 1 <= self.window <= self.pointers
        reject(not within, f"window must be in 1..pointers = {self.pointers}, got {self.window}")

    def lengths(self, low: int, high: int) -> list[int]:
        """From a window of values to as many as there are pointers."""
        return list(range(max(low, self.window), min(high, self.pointers) + 1))

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
        named, *values = body(prompt, SEP, what := "a pointer and values") or [""]
        reject(not values, f"not {what}")
        pointer = self.vocab[named] - self.vocab["p0"]
        found = set(values) <= set("0123456789") and 0 <= pointer < len(values) >= self.window
        reject(not found, "not a pointer to one of the values")
        chosen = (values[(pointer + offset) % len(values)] for offset in range(self.window))
        return [str(sum(map(int, chosen)) % 10), EOS]
