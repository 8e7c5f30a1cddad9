"""Task hinting: training on a task and, now and then, on a simpler one about the same kind of input."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import ShareBelow1
from lengthwise.core.errors import require
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import Vocab
from lengthwise.tasks.base import TASKS, AnyTask, Task
from lengthwise.tasks.sort import Sort
from lengthwise.tasks.string_set import StringSet
from lengthwise.tasks.strings.successor import Successor


@dataclass(frozen=True)
class HintingLayout(Layout):
    """A layout of the task, or of the hint."""

    inner: Layout
    hint: bool

    @property
    def axes(self) -> dict[str, int]:
        """Those of the inner layout."""
        return self.inner.axes


@TASKS.register("task-hinting")
class TaskHinting(Task):
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
        if self.task.levels != self.hint.levels or self.task.place_rule != self.hint.place_rule:
            raise ValueError(f"{self.task.name} and {self.hint.name} have different rules of places; take another hint")
        if type(self.task).layout is not Task.layout and not self.task.test_layouts(self.task.min_length):
            raise ValueError(f"task {self.task.name!r} draws its layouts and names none for tests; it takes no hint")
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

    def max_length(self) -> int | None:
        return self.task.max_length()

    def lengths(self, low: int, high: int) -> list[int]:
        """Those of ``task``; where the hint has no strings, there is no hint."""
        return self.task.lengths(low, high)

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
        found = list(self._answers(prompt))
        if len(found) != 1:
            raise ValueError(f"not a prompt of one of {self.task.name} and {self.hint.name}")
        return found[0]

    def _answers(self, prompt: Sequence[str]) -> Iterator[list[str]]:
        for task in (self.task, self.hint):
            with suppress(ValueError):
                yield task.answer(prompt)

    def _of(self, layout: Layout) -> tuple[Task, Layout]:
        assert isinstance(layout, HintingLayout)
        return (self.hint if layout.hint else self.task), layout.inner
