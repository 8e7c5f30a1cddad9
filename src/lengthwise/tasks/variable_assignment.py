"""Variable assignment: a chain of names leads to a value (after Golowich et al. 2025 and Anil et al. 2022)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from string import ascii_lowercase
from typing import Any

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import Alphabet1
from lengthwise.core.errors import reject
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS
from lengthwise.tasks.base import TASKS, Task, body, distinct, inverse, numbered, shuffles

QUERY, LINE_END = "?", ";"
CHILD, PARENT = 1, 2


@dataclass(frozen=True)
class Chains(Layout):
    """``depths[0]`` lines form the queried chain, the other numbers are the lines of the other chains."""

    depths: tuple[int, ...]

    @property
    def axes(self) -> dict[str, int]:
        """Number of chains and depth of the queried one."""
        return {"chains": len(self.depths), "depth": self.depths[0]}


@TASKS.register("variable-assignment")
class VariableAssignment(Task):
    """``<bos> b 7 c 2 a b ? a a b b 7 <eos>``: a is b, b is 7, so the queried a is 7; c is 2.

    Length = number of lines ``child parent``. Every chain ends in a value of its own, and the lines of all chains are
    shuffled together. The scratchpad copies the lines of the queried chain in order. Both tokens of a line share its
    place, and so do the scratchpad's copies of them; ``?``, the queried name and ``<eos>`` share one more. The level
    ``slots`` says child (1) or parent (2). Without ``scratchpad`` the answer is the value alone.

    In training the queried depth is uniform in 1..n; the other lines are cut into chains at random, or, half of the
    time, into chains of the queried depth. Tests hold 4 chains of equal depth, so that nothing short of following the
    chain gives away which value it is; with scratchpad also one chain of all lines, where the whole trace is scored.

    With ``separators`` every line, in the prompt and in the scratchpad, ends in ``;``. Without them child and parent
    differ by the parity of their position alone, which a random skip between ids (PoSE) hides.
    """

    summary = "follow a chain of names through shuffled lines to its value"
    tokens = (lambda task: _names(task.names), numbered("", "values"), QUERY, lambda task: LINE_END * task.separators)

    scratchpad: bool = True
    slots: bool = True
    separators: bool = False
    names: Alphabet1 = 600
    values: Alphabet1 = 16
    test_chains: int = 4

    def __post_init__(self) -> None:
        within = 1 <= self.test_chains <= self.values
        reject(not within, f"test_chains must be in 1..values = {self.values}, got {self.test_chains}")

    @property
    def levels(self) -> tuple[LevelKind, ...]:
        """The line, and the slot within it."""
        return ("position", "label") if self.slots else ("position",)

    def max_length(self) -> int:
        return self.names

    def chance(self, layout: Layout) -> float:
        """One of the values that the chains end in."""
        return 1.0 / len(layout.depths) if isinstance(layout, Chains) else 1.0 / self.test_chains

    def layout(self, length: int, rng: Rng) -> Chains:
        """Draw the depths of the chains."""
        depth = int(rng.integers(1, length + 1))
        rest = length - depth
        if rest == 0 or self.values == 1:
            return Chains(length, (length,) if self.values == 1 else (depth,))
        if rng.random() < 0.5:
            equal = min(rest // depth, self.values - 1)
            rest -= equal * depth
            others = [depth] * equal
            if rest and len(others) < self.values - 1:
                others.append(rest)
            elif rest:
                others[-1] += rest
            return Chains(length, (depth, *others))
        cuts = int(rng.integers(min(rest, self.values - 1)))
        places = np.sort(rng.permutation(rest - 1)[:cuts]) + 1
        return Chains(length, (depth, *np.diff([0, *places, rest]).tolist()))

    def test_layouts(self, length: int) -> list[Layout]:
        """Chains of equal depth where the lines divide evenly; with scratchpad also one chain of all lines."""
        if length % self.test_chains:
            return []
        layouts: list[Layout] = [Chains(length, (length // self.test_chains,) * self.test_chains)]
        if self.scratchpad and self.test_chains > 1:
            layouts.append(Chains(length, (length,)))
        return layouts

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Line r (from 0) has place r + 1."""
        assert isinstance(layout, Chains)
        n, depth, rows = layout.length, layout.depths[0], seq.size
        child = distinct(rng, self.names, n, rows) + self.vocab["a"]
        value = distinct(rng, self.values, len(layout.depths), rows) + self.vocab["0"]
        parent = np.roll(child, -1, axis=1)
        parent[:, np.cumsum(layout.depths) - 1] = value
        in_line = shuffles(rng, n, rows)
        children = np.ascontiguousarray(np.take_along_axis(child, in_line, axis=1).T)
        parents = np.ascontiguousarray(np.take_along_axis(parent, in_line, axis=1).T)
        line = np.ascontiguousarray(inverse(in_line)[:, :depth].T)
        chain, ends = np.ascontiguousarray(child[:, :depth].T), np.ascontiguousarray(parent[:, :depth].T)

        def place(of: Any, slot: int = 0) -> Any:
            return (of, slot) if self.slots else of

        seq.bos()
        for r in range(n):
            seq.given(children[r], place(r + 1, CHILD))
            seq.given(parents[r], place(r + 1, PARENT))
            if self.separators:
                seq.given(self.vocab[LINE_END], place(r + 1))
        seq.given(self.vocab[QUERY], place(n + 1))
        last = seq.given(chain[0], place(n + 1))
        # Without separators line r is tokens 2r + 1 and 2r + 2, behind <bos>.
        in_child = (3 if self.separators else 2) * line + 1
        in_parent = in_child + 1
        if not self.scratchpad:
            followed = [position for j in range(depth) for position in (in_child[j], in_parent[j])]
            seq.predicted(
                ends[-1], place(line[-1] + 1, PARENT), parents=[in_parent[-1]], selectors=[last, *followed[:-1]]
            )
            seq.eos(place(n + 1))
            return
        for j in range(depth):
            name = seq.predicted(chain[j], place(line[j] + 1, CHILD), parents=[last], answer=False)
            last = seq.predicted(
                ends[j],
                place(line[j] + 1, PARENT),
                parents=[in_parent[j]],
                selectors=[name, in_child[j]],
                answer=j == depth - 1,
            )
            if self.separators and j < depth - 1:
                seq.predicted(self.vocab[LINE_END], place(line[j] + 1), selectors=[last], answer=False)
        # The trace ends where it reached a value.
        seq.eos(place(n + 1), selectors=[last])

    def answer(self, prompt: Sequence[str]) -> list[str]:
        width = 3 if self.separators else 2
        text = body(prompt[:-1], QUERY, what := "lines followed by ? and a name")
        reject(not text or len(text) % width > 0, f"not {what}")
        reject(self.separators and set(text[2::3]) != {LINE_END}, "a line does not end in ;")
        children, parents = text[::width], text[1::width]
        meaning = dict(zip(children, parents, strict=True))
        first_value = self.vocab["0"]
        own = len(meaning) == len(children) and all(4 <= self.vocab[name] < first_value for name in children)
        reject(not own, "every line defines a name of its own")
        trace, name = [], prompt[-1]
        while self.vocab[name] < first_value:
            reject(name not in meaning or len(trace) > width * len(meaning), f"{name} leads to no value")
            trace += [name, meaning[name], LINE_END] if self.separators else [name, meaning[name]]
            name = meaning[name]
        reject(not trace or name == QUERY, "the query is not a name that leads to a value")
        if self.separators:
            trace.pop()
        return [*(trace if self.scratchpad else [name]), EOS]


def _names(count: int) -> list[str]:
    """The first names of a, b, …, z, aa, ab, …"""
    words = ("".join(letters) for width in itertools.count(1) for letters in product(ascii_lowercase, repeat=width))
    return list(itertools.islice(words, count))
