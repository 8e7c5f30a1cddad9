"""Medians of interleaved repeats, and the rows that they make."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from lengthwise.core.errors import LengthwiseError

Clock = Literal["wall", "cpu"]


@dataclass(frozen=True)
class Row:
    """One comparison; ``ratio`` is how many times better ours is, also where less is better.

    ``skipped`` says why there are no numbers.
    """

    name: str
    unit: str
    ours: float | None = None
    baseline: float | None = None
    ratio: float | None = None
    against: str = ""
    note: str = ""
    skipped: str = ""

    @classmethod
    def of(cls, name: str, unit: str, ours: float, baseline: float, against: str, note: str = "") -> Row:
        """From two measurements; units that end in ``/s`` or start with ``%`` are better when larger."""
        larger = unit.endswith("/s")
        ratio = ours / baseline if larger else baseline / ours
        return cls(name, unit, ours, baseline, ratio, against, note)

    def to_json(self) -> dict[str, Any]:
        """The fields."""
        return asdict(self)


@dataclass(frozen=True)
class Took:
    """What a side returns that knows its own seconds, because it worked in another process."""

    seconds: float


@dataclass(frozen=True)
class Effort:
    """How long to measure: timed repeats of each side, after one that is not timed, by wall or CPU time."""

    repeats: int = 5
    clock: Clock = "wall"
    quick: bool = False
    """Smaller cases, for a first look and for tests."""

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise LengthwiseError(f"--repeats must be at least 1, got {self.repeats}")

    def seconds(self, sides: Sequence[Callable[[int], object]]) -> list[float]:
        """Median seconds of each side; the sides take turns, so that a busy moment of the machine hits all of them."""
        clock = time.perf_counter if self.clock == "wall" else time.process_time
        times: list[list[float]] = [[] for _ in sides]
        for repeat in range(self.repeats + 1):
            for side, record in zip(sides, times, strict=True):
                started = clock()
                answer = side(repeat)
                record.append(answer.seconds if isinstance(answer, Took) else clock() - started)
        return [statistics.median(record[1:]) for record in times]
