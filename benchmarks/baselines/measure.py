"""Times two or more sides in alternation and stores their medians as comparisons."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from lengthwise.core.errors import LengthwiseError

ClockName = Literal["wall", "cpu"]


@dataclass(frozen=True)
class BenchRow:
    """One comparison of ours with a baseline.

    ``ratio`` is above 1 where ours is better, for costs (less is better) as for speeds. ``skipped`` holds the reason
    where there are no numbers.
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
    def of(cls, name: str, unit: str, ours: float, baseline: float, against: str, note: str = "") -> BenchRow:
        """From two measurements. Units that end in ``/s`` are better when larger, all others when smaller."""
        larger = unit.endswith("/s")
        ratio = ours / baseline if larger else baseline / ours
        return cls(name, unit, ours, baseline, ratio, against, note)

    def to_json(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Timed:
    """The seconds of a side that another process timed; a side returns it instead of being timed here."""

    seconds: float


@dataclass(frozen=True)
class Effort:
    """How long to measure: timed repeats of each side after one warm-up, in wall or CPU seconds."""

    repeats: int = 5
    clock: ClockName = "wall"
    quick: bool = False
    """Smaller cases, for a first look and for tests."""

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise LengthwiseError(f"repeats must be at least 1, got {self.repeats}")

    def seconds(self, sides: Sequence[Callable[[int], object]]) -> list[float]:
        """Median seconds of each side. Repeats alternate between the sides, so that load on the machine hits all."""
        clock = time.perf_counter if self.clock == "wall" else time.process_time
        times: list[list[float]] = [[] for _ in sides]
        for repeat in range(self.repeats + 1):
            for side, record in zip(sides, times, strict=True):
                started = clock()
                answer = side(repeat)
                record.append(answer.seconds if isinstance(answer, Timed) else clock() - started)
        return [statistics.median(record[1:]) for record in times]
