"""Runs a baseline in a process of its own, because our allocator settings would speed it up too.

The two processes never work at the same time: ours waits for each answer.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from baselines.measure import ClockName, Timed

Sides = Mapping[Any, Callable[[int], object]]
"""Functions to time, by key. Each takes the number of the repeat."""
_SIDES: dict[Any, Callable[[int], object]] = {}
"""In the other process: what it times."""


class BaselineProcess(AbstractContextManager["BaselineProcess"]):
    """A context manager that times the sides that ``make(*arguments)`` builds in another process.

    ``make`` and its arguments are pickled, so they must be importable.
    """

    def __init__(self, make: Callable[..., Sides], *arguments: Any, clock: ClockName) -> None:
        self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        self._seconds = partial(_seconds, make, arguments, clock)

    def side(self, key: Hashable) -> Callable[[int], Timed]:
        """The side under ``key``, for `Effort.seconds`. It raises what the other process raised."""
        return lambda repeat: Timed(self._pool.submit(self._seconds, key, repeat).result())

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown()


def _seconds(
    make: Callable[..., Sides], arguments: tuple[Any, ...], name: ClockName, key: Hashable, repeat: int
) -> float:
    """How long one side takes; the sides are built before the first."""
    clock = time.perf_counter if name == "wall" else time.process_time
    if not _SIDES:
        _SIDES.update(make(*arguments))
    started = clock()
    _SIDES[key](repeat)
    return clock() - started
