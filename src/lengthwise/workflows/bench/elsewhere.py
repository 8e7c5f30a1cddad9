"""The baseline in a process of its own: what we tell the C library about memory must not speed it up as well.

The two processes never work at the same time: ours waits for each answer.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Hashable, Mapping
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from lengthwise.workflows.bench.measure import Clock, Took

Sides = Mapping[Any, Callable[[int], object]]
"""By key, what is timed; called with the number of the repeat."""


class Elsewhere:
    """Times the sides that ``make()`` builds over there; both have to be importable. A context manager."""

    def __init__(self, make: Callable[..., Sides], *arguments: Any, clock: Clock) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, make, arguments, clock), daemon=True)
        self._process.start()
        theirs.close()

    def side(self, key: Hashable) -> Callable[[int], Took]:
        """One of the sides, for `Effort.seconds`; raises what was raised over there."""

        def call(repeat: int) -> Took:
            self._pipe.send((key, repeat))
            answer = self._pipe.recv()
            if isinstance(answer, Exception):
                raise answer
            return Took(answer)

        return call

    def __enter__(self) -> Elsewhere:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pipe.close()
        self._process.join(timeout=10)
        if self._process.is_alive():
            self._process.kill()


def _serve(pipe: Connection, make: Callable[..., Sides], arguments: tuple[Any, ...], name: Clock) -> None:
    """Answer each (key, repeat) with the seconds that it took, until the other end is closed."""
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
