"""Drives pieces of work to their end, with any scheduler that starts them somewhere."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from typing import Any

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.experiments.cluster.lease import state_of
from lengthwise.experiments.cluster.piece import Outcome, Piece

POLL = 0.5
"""Seconds between two looks at the progress."""


class Scheduler(ABC):
    """Starts tasks somewhere, each again when a machine or process dies."""

    patience: float
    """Seconds after which a lease without a beat is stale."""

    @abstractmethod
    def start(self, piece: Piece) -> Any:
        """Start `run_piece` on the piece; returns a hashable handle."""

    @abstractmethod
    def done(self, handles: Sequence[Any], seconds: float) -> list[Any]:
        """Those that have ended; waits at most so many seconds for the first one."""

    @abstractmethod
    def outcome(self, handle: Any) -> Outcome:
        """How a task ended; raises what our own code raised unexpectedly."""

    @abstractmethod
    def stop(self) -> None:
        """End all tasks that still run. Their state stays."""


def drive(
    pieces: Sequence[Piece],
    scheduler: Scheduler,
    watch: Callable[[Piece, dict[str, Any]], None],
    check: Callable[[], None] = lambda: None,
) -> Generator[tuple[Piece, Outcome]]:
    """Run all pieces; yields how each ended. A piece that needs too much memory is cut in two.

    Close the generator (`contextlib.closing`) where the loop over it can be interrupted: that ends all tasks at once.
    ``watch`` is called with what the tasks tell, and ``check`` often; what it raises ends all tasks. Raises
    `LengthwiseError` for the first piece that failed; all state stays, and the same call goes on.
    """
    running: dict[Any, Piece] = {}
    waiting: list[tuple[float, Piece]] = [(0.0, piece) for piece in pieces]
    try:
        while running or waiting:
            check()
            now = time.monotonic()
            due, waiting = [p for at, p in waiting if at <= now], [(at, p) for at, p in waiting if at > now]
            running |= {scheduler.start(piece): piece for piece in due}
            done = scheduler.done(list(running), POLL)
            for piece in running.values():
                if state := state_of(piece.root):
                    watch(piece, state)
            for handle in done:
                piece, outcome = running.pop(handle), scheduler.outcome(handle)
                if outcome.status in ("held", "lost"):
                    # Another driver's task has it: look again later, and find it finished.
                    waiting.append((time.monotonic() + scheduler.patience, piece))
                elif outcome.status == "memory":
                    waiting += [(0.0, half) for half in _cut(piece, outcome)]
                elif outcome.status == "failed":
                    raise LengthwiseError(outcome.what)
                else:
                    yield piece, outcome
    finally:
        scheduler.stop()


def _cut(piece: Piece, outcome: Outcome) -> Sequence[Piece]:
    halves = piece.halves()
    require(bool(halves), f"{outcome.what}; give each job more memory (--cpus-per-job) or choose smaller batches")
    return halves
