"""Stack manipulation: what is on a stack after pushes and pops?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS, Vocab
from lengthwise.tasks.base import TASKS, Task
from lengthwise.tasks.string_task import read

POP, PUSH, BOTTOM = "pop", ("push0", "push1"), "#"


@dataclass(frozen=True)
class StackSize(Layout):
    """How many of the tokens are the first stack; the others are actions."""

    stack: int


@TASKS.register("stack-manipulation")
class StackManipulation(Task):
    """``<bos> 0 1 pop push0 push1 <sep> 1 0 0 # # # <eos>``: the stack 01 after three actions, top first.

    Length = symbols of the first stack (bottom to top) and actions. A pop from an empty stack changes nothing. The
    answer is filled up with ``#`` to one token more than the length. Every symbol is a copy of one that was pushed,
    chosen by the actions.
    """

    summary = "the stack after pushes and pops, top to bottom"

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of(["0", "1", POP, *PUSH, BOTTOM])

    def layout(self, length: int, rng: Rng) -> StackSize:
        """The first stack has 1 to n symbols."""
        return StackSize(length, int(rng.integers(1, length + 1)))

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Token i (from 0) has place i + 2, and so has a copy of its symbol; ``<sep>`` and ``#`` have 1."""
        assert isinstance(layout, StackSize)
        n, rows = layout.length, np.arange(seq.size)
        first = rng.integers(2, size=(layout.stack, seq.size), dtype=np.int64) + self.vocab["0"]
        actions = rng.integers(3, size=(n - layout.stack, seq.size), dtype=np.int64) + self.vocab[POP]
        seq.bos()
        tokens = np.concatenate([first, actions])
        given = seq.givens(tokens, place=np.arange(2, n + 2))
        seq.sep(place=1)
        # Which token is on the stack at each height, and the height.
        stack = np.full((n + 1, seq.size), -1, dtype=np.int64)
        stack[: layout.stack] = np.arange(layout.stack)[:, None]
        height = np.full(seq.size, layout.stack)
        for step in range(layout.stack, n):
            pop = tokens[step] == self.vocab[POP]
            stack[height[~pop], rows[~pop]] = step
            height = np.where(pop, np.maximum(height - 1, 0), height + 1)
        symbols = np.where(tokens >= self.vocab[PUSH[0]], tokens - self.vocab[PUSH[0]] + self.vocab["0"], tokens)
        for depth in range(1, n + 2):
            there = depth <= height
            source = stack[np.maximum(height - depth, 0), rows]
            seq.predicted(
                np.where(there, symbols[source, rows], self.vocab[BOTTOM]),
                place=np.where(there, source + 2, 1),
                parents=[np.where(there, source + given[0], -1)],
                selectors=given[layout.stack :],
            )
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """A Python list as stack."""
        string = read("repeats", self.vocab, prompt)
        stack: list[str] = []
        started = False
        for token in string:
            if token in ("0", "1") and not started:
                stack.append(token)
                continue
            started = True
            if token in PUSH:
                stack.append(token[-1])
            elif token == POP:
                stack = stack[:-1]
            else:
                raise ValueError(f"{token!r} is no action")
        if string[0] not in ("0", "1"):
            raise ValueError("the first stack is empty")
        return [*reversed(stack), *[BOTTOM] * (len(string) + 1 - len(stack)), EOS]
