"""A task with its places replaced by those of a coupling rule."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.errors import require
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import Vocab
from lengthwise.sparsity.coupling.coupling_rule import ColumnRange, CouplingRule, PlaceFormula
from lengthwise.tasks.base import TASKS, AnyTask, Task
from lengthwise.tasks.copy import Copy

COPY_RULE = CouplingRule(
    segments=(
        ColumnRange(1, 0, in_prompt=True, varies=False),
        ColumnRange(0, 1, in_prompt=True, varies=True),
        ColumnRange(1, 0, in_prompt=True, varies=False),
        ColumnRange(0, 1, in_prompt=False, varies=True),
        ColumnRange(1, 0, in_prompt=False, varies=False),
    ),
    formulas=(None, PlaceFormula(2, 0, 1), PlaceFormula(1, 0, 0), PlaceFormula(2, 0, 1), PlaceFormula(2, 1, 0)),
    lengths=(4, 5, 6),
)
"""The rule that the search finds for copy, the default ``task``; a test compares the two."""


@TASKS.register("recoupled")
class Recoupled(Task):
    """The sequences of ``task``, token by token, with the places of ``rule``.

    Layouts, answers, parents and lengths are the task's own. Only tasks with one level of places can be placed anew.
    Raises `LengthwiseError` while writing when the rule is for sequences of another number of tokens.
    """

    summary = "another task with the places of a coupling rule that was found (`lengthwise couple`)"
    # A rule counts places upwards through the answer, so a new place is the next one.
    place_rule = "next"

    task: AnyTask = Copy(symbols="repeats")
    rule: CouplingRule = COPY_RULE

    def __post_init__(self) -> None:
        if self.task.levels != ("position",):
            raise ValueError(f"task {self.task.name!r} has {len(self.task.levels)} levels of places; one can be placed")
        if len(self.rule.formulas) != len(self.rule.segments):
            raise ValueError("a rule needs one formula (or null) per segment")

    @cached_property
    def vocab(self) -> Vocab:
        return self.task.vocab

    def layout(self, length: int, rng: Rng) -> Layout:
        return self.task.layout(length, rng)

    def test_layouts(self, length: int) -> list[Layout]:
        return self.task.test_layouts(length)

    def max_length(self) -> int | None:
        return self.task.max_length()

    def lengths(self, low: int, high: int) -> list[int]:
        """The task's lengths at which no segment of the rule has a negative size."""
        sizes = self.rule.segments
        return [n for n in self.task.lengths(low, high) if all(segment.size(n) >= 0 for segment in sizes)]

    def chance(self, layout: Layout) -> float:
        return self.task.chance(layout)

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Let the task write, then write the same columns with other places."""
        inner = SequenceBuilder(self.vocab, seq.size)
        self.task.write(inner, layout, rng)
        batch = inner.build(layout)
        places = self.rule.places(layout.length)
        require(
            len(places) == batch.tokens,
            f"the rule places {len(places)} tokens at length {layout.length}, but {self.task.name} has {batch.tokens}; "
            f"find a rule with `lengthwise couple {self.task.name}`",
        )
        for t, (column, place) in enumerate(zip(batch.columns, places.tolist(), strict=True)):
            seq.append(np.ascontiguousarray(batch.input_ids[:, t]), place, column)
        if batch.allowed is not None:
            seq.allow(batch.allowed)
        seq.extra.update(batch.extra)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        return self.task.answer(prompt)
