"""Cycle navigation: where do moves on a cycle lead?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated

from pydantic import Field

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS, Vocab
from lengthwise.tasks.base import TASKS, Task
from lengthwise.tasks.string_task import read

MOVES = ("left", "stay", "right")


@TASKS.register("cycle-navigation")
class CycleNavigation(Task):
    """``<bos> right right stay <sep> 2 <eos>``: the final place on a cycle of 5, from place 0.

    Length = number of moves. Every move matters.
    """

    summary = "the final place of n moves on a cycle of 5"

    size: Annotated[int, Field(ge=2, le=100)] = 5

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of([*MOVES, *map(str, range(self.size))])

    def chance(self, layout: Layout) -> float:
        return 1.0 / min(self.size, 2 * layout.length + 1)

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """All moves share place 1 with the answer; ``<sep>`` has 2."""
        moves = rng.integers(3, size=(layout.length, seq.size))
        seq.bos()
        given = seq.givens(moves + self.vocab["left"], place=1)
        seq.sep(place=2)
        seq.predicted((moves - 1).sum(axis=0) % self.size + self.vocab["0"], place=1, parents=given)
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Walk."""
        at = 0
        for move in read("repeats", self.vocab, prompt):
            if move not in MOVES:
                raise ValueError(f"{move!r} is no move")
            at = (at + MOVES.index(move) - 1) % self.size
        return [str(at), EOS]
