"""The base class `Task`: tokens together with their places and parents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, final

from pydantic import BeforeValidator, PlainSerializer

from lengthwise.core.batch import Batch, Layout, SequenceBuilder
from lengthwise.core.errors import LengthwiseError, shortened
from lengthwise.core.levels import LevelKind, PlaceRule
from lengthwise.core.registry import Registry
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import Vocab
from lengthwise.tasks.string_set import ROWS, StringSet, chunks, shares

LAYOUT_ROWS = 8
"""Test strings that share one drawn layout."""


class Task(ABC):
    """One task: a frozen dataclass whose fields are its configuration.

    A subclass defines the tokens (`vocab`), the lengths that have instances (`lengths`), the layout of the columns
    (`layout`), and the columns with their places, parents and selectors (`write`). `answer` solves one prompt
    independently; the tests compare the two.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    """One line for ``lengthwise list``."""
    place_rule: ClassVar[PlaceRule] = "earlier"
    min_length: ClassVar[int] = 1

    @property
    def levels(self) -> tuple[LevelKind, ...]:
        """The kinds of the place levels; the first one is ``position``."""
        return ("position",)

    @cached_property
    def vocab(self) -> Vocab:
        """The tokens; every task has its own."""
        raise NotImplementedError(f"task {self.name!r} has no vocab")

    @abstractmethod
    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Write the columns of one batch."""

    @abstractmethod
    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Everything that follows ``prompt`` (scratchpad, answer, ``<eos>``), solved row by row in plain Python.

        Raises `ValueError` where ``prompt`` is not an instance of the task.
        """

    @final
    def solve(self, prompt: Sequence[str]) -> list[str]:
        """`answer`, checked: raises `LengthwiseError` unless it returns tokens of the vocabulary."""
        found = self.answer(prompt)
        if not isinstance(found, list | tuple) or not all(isinstance(t, str) and t in self.vocab.ids for t in found):
            shown = shortened(repr(found))
            raise LengthwiseError(f"answer of task {self.name!r} returned {shown}; it must return a list of tokens")
        return list(found)

    def layout(self, length: int, rng: Rng) -> Layout:
        """Draw a layout, with the probabilities that it has when rows are drawn one by one."""
        return Layout(length)

    def max_length(self) -> int | None:
        """The largest length with instances, or None if there is no limit."""
        return None

    def lengths(self, low: int, high: int) -> list[int]:
        """The lengths in ``low..high`` that have instances."""
        top = self.max_length()
        return list(range(max(low, self.min_length), (high if top is None else min(high, top)) + 1))

    def chance(self, layout: Layout) -> float:
        """Probability of the answer being right by guessing among the answers that the prompt leaves open."""
        return 0.0

    def test_layouts(self, length: int) -> list[Layout]:
        """The fixed layouts on which a length is tested; empty means: draw them like training's."""
        return []

    def test_strings(self, low: int, high: int, count: int, rng: Rng, *, adversarial: bool = False) -> StringSet:
        """``count`` strings spread evenly over the lengths ``low..high``; a task with few of them gives each once.

        Raises `LengthwiseError` if these lengths have no instances, or the task has no adversarial strings.
        """
        lengths = self.lengths(low, high)
        if not lengths:
            raise LengthwiseError(f"task {self.name!r} has no instances of lengths {low} to {high}; choose other bins")
        if adversarial:
            raise LengthwiseError(f"task {self.name!r} has no adversarial strings; set evaluation.adversarial to false")
        # Layouts are part of the distribution where they are drawn, so there must be many of them.
        most = ROWS if type(self).layout is Task.layout else LAYOUT_ROWS
        sizes = ((length, rows) for length, number in shares(lengths, count) for rows in chunks(number, most))
        return StringSet("uniform", (self.batch(length, rows, rng) for length, rows in sizes))

    @final
    def batch(self, length: int, size: int, rng: Rng, layout: Layout | None = None) -> Batch:
        """``size`` sequences of one layout of ``length``; raises `LengthwiseError` if the length has no instances."""
        if size < 1:
            raise LengthwiseError(f"a batch needs at least one sequence, got size {size}; use size 1 or more")
        if length not in self.lengths(length, length):
            raise LengthwiseError(f"task {self.name!r} has no instances of length {length}; use {self._near(length)}")
        layout = layout or self.layout(length, rng)
        if layout.length != length:
            raise LengthwiseError(f"the layout is for length {layout.length}, not {length}; use a layout of {length}")
        seq = SequenceBuilder(self.vocab, size, levels=len(self.levels))
        self.write(seq, layout, rng)
        return seq.build(layout)

    def _near(self, length: int) -> str:
        """Words for the lengths with instances around ``length``."""
        top = self.max_length()
        if top is not None and length > top:
            return f"{top} or less"
        below, above = self.lengths(max(length - 50, 0), length), self.lengths(length, max(length, 0) + 50)
        return " or ".join(str(near) for near in (*below[-1:], *above[:1])) or "another length"


class TaskRegistry(Registry[Task]):
    """Tasks by name; ``regex:(ab)*`` is the task ``language`` of that regular expression."""

    def build(self, spec: Any, **fields: Any) -> Task:
        """A task from itself, its name, ``regex:EXPRESSION``, or ``{"name": ..., **fields}``."""
        values = {"name": spec} if isinstance(spec, str) else spec
        name = values.get("name") if isinstance(values, dict) else None
        if isinstance(name, str) and name.startswith(EXPRESSION):
            values = {**values, **fields}
            expression = values.get("language", name.removeprefix(EXPRESSION))
            if expression != name.removeprefix(EXPRESSION):
                raise LengthwiseError(f"{name!r} names one language and language={expression!r} another; give one")
            return super().build({**values, "name": "language", "language": expression})
        return super().build(spec, **fields)


EXPRESSION = "regex:"
"""What a regular expression begins with where the name of a task may stand."""
TASKS: Registry[Task] = TaskRegistry("task", Task)
AnyTask = Annotated[Task, BeforeValidator(TASKS.build), PlainSerializer(TASKS.describe)]
"""A field that holds a task: the object, its name, or its fields."""
