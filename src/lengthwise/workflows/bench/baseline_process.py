"""Runs a baseline in a process of its own, because our allocator settings would speed it up too.

The two processes never work at the same time: ours waits for each answer.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Hashable, Mapping
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from lengthwise.workflows.bench.measure import Clock, Timed

Sides = Mapping[Any, Callable[[int], object]]
"""Functions to time, by key. Each takes the number of the repeat."""


class BaselineProcess:
    """A context manager that times the sides that ``make(*arguments)`` builds in another process.

    ``make`` and its arguments are pickled, so they must be importable.
    """

    def __init__(self, make: Callable[..., Sides], *arguments: Any, clock: Clock) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, make, arguments, clock), daemon=True)
        self._process.start()
        theirs.close()

    def side(self, key: Hashable) -> Callable[[int], Timed]:
        """The side under ``key``, for `Effort.seconds`. It raises what the other process raised."""

        def call(repeat: int) -> Timed:
            self._pipe.send((key, repeat))
            answer = self._pipe.recv()
            if isinstance(answer, Exception):
                raise answer
            return Timed(answer)

        return call

    def __enter__(self) -> BaselineProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pipe.close()
        self._process.join(timeout=10)
        if self._process.is_alive():
            self._process.kill()


def _serve(pipe: Connection, make: Callable[..., Sides], arguments: tuple[Any, ...], name: Clock) -> None:
    """Answer each (key, repeat) with its seconds until the other end of the pipe closes."""
    clock = time.perf_counter if name == "wall" else time.process_time
    sides: Sides | None = None
    while True:
        try:
            key, repeat = pipe.recv()
        except EOFError:
            return
        try:
            sides = make(*arguments) if sides is None else sides
            started = clock()
            sides[key](repeat)
            pipe.send(clock() - started)
        except Exception as error:
            pipe.send(error)
