"""A task under another rule of places, and a task with hints of its places."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import ShareBelow1
from lengthwise.core.errors import reject, require
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import Vocab
from lengthwise.sparsity.coupling import ColumnRange, CouplingRule, PlaceFormula
from lengthwise.tasks.base import TASKS, AnyTask, StringSet, Task
from lengthwise.tasks.copying import Copy, Sort
from lengthwise.tasks.counting import Successor

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


class Around(Task):
    """A task around another one: what a subclass does not define is that of ``task``."""

    task: AnyTask

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
        return self.task.lengths(low, high)

    def chance(self, layout: Layout) -> float:
        return self.task.chance(layout)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        return self.task.answer(prompt)


@TASKS.register("recoupled")
class Recoupled(Around):
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
        levels = self.task.levels
        several = levels != ("position",)
        reject(several, f"task {self.task.name!r} has {len(levels)} levels of places; one can be placed")
        per_segment = len(self.rule.formulas) == len(self.rule.segments)
        reject(not per_segment, "a rule needs one formula (or null) per segment")

    def lengths(self, low: int, high: int) -> list[int]:
        """The task's lengths at which no segment of the rule has a negative size."""
        sizes = self.rule.segments
        return [n for n in self.task.lengths(low, high) if all(segment.size(n) >= 0 for segment in sizes)]

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


@dataclass(frozen=True)
class HintingLayout(Layout):
    """A layout of the task, or of the hint."""

    inner: Layout
    hint: bool

    @property
    def axes(self) -> dict[str, int]:
        return self.inner.axes


@TASKS.register("task-hinting")
class TaskHinting(Around):
    """Strings of ``task``, and with probability ``share`` of ``hint`` (Awasthi and Gupta 2023).

    Training and in-distribution measures draw both; tests at a length, and test strings, are of ``task`` alone. The
    prompts of the two must differ in some token; the vocabulary is that of ``task`` with what ``hint`` adds behind it.
    Raises `ValueError` for tasks whose places follow different rules, or that draw layouts and name none for tests, and
    `LengthwiseError` while writing tasks that score sets of next tokens.
    """

    summary = "a task together with an auxiliary one about the same kind of input"

    task: AnyTask = Sort()
    hint: AnyTask = Successor()
    share: ShareBelow1 = 0.3
    """Published shares are 0.1 to 0.5."""

    def __post_init__(self) -> None:
        task, hint = self.task, self.hint
        differ = task.levels != hint.levels or task.place_rule != hint.place_rule
        reject(differ, f"{task.name} and {hint.name} have different rules of places; take another hint")
        unnamed = type(task).layout is not Task.layout and not task.test_layouts(task.min_length)
        reject(unnamed, f"task {task.name!r} draws its layouts and names none for tests; it takes no hint")
        object.__setattr__(self, "place_rule", self.task.place_rule)

    @cached_property
    def vocab(self) -> Vocab:
        own = self.task.vocab
        added = [token for token in self.hint.vocab.tokens if token not in own.ids]
        return Vocab(own.tokens + tuple(added))

    def layout(self, length: int, rng: Rng) -> Layout:
        hint = rng.random() < self.share and bool(self.hint.lengths(length, length))
        return HintingLayout(length, (self.hint if hint else self.task).layout(length, rng), hint)

    def test_layouts(self, length: int) -> list[Layout]:
        return [
            HintingLayout(length, inner, hint=False) for inner in self.task.test_layouts(length) or [Layout(length)]
        ]

    def test_strings(self, low: int, high: int, count: int, rng: Rng, *, adversarial: bool = False) -> StringSet:
        """Those of ``task``."""
        found = self.task.test_strings(low, high, count, rng, adversarial=adversarial)
        return StringSet(found.name, (replace(batch, vocab=self.vocab) for batch in found.batches))

    def chance(self, layout: Layout) -> float:
        task, inner = self._of(layout)
        return task.chance(inner)

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Let the one or the other write, then give its tokens their numbers here."""
        task, inner = self._of(layout)
        batch = task.batch(layout.length, seq.size, rng, inner)
        require(batch.allowed is None, f"{task.name} scores sets of next tokens; a task with hints has one right token")
        ids = np.array([self.vocab.ids[token] for token in task.vocab.tokens])[batch.input_ids]
        for t, column in enumerate(batch.columns):
            seq.append(ids[:, t], tuple(batch.places[:, t].T), column)
        seq.extra.update(batch.extra)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """That of the only one of the two that has this prompt."""
        found: list[list[str]] = []
        for task in (self.task, self.hint):
            with suppress(ValueError):
                found.append(task.answer(prompt))
        reject(len(found) != 1, f"not a prompt of one of {self.task.name} and {self.hint.name}")
        return found[0]

    def _of(self, layout: Layout) -> tuple[Task, Layout]:
        assert isinstance(layout, HintingLayout)
        return (self.hint if layout.hint else self.task), layout.inner
