"""What work reports while it goes on: one event, one callback, within a process and across."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Event:
    """What a computation is doing: ``done`` of ``total`` steps, tested cells or parts of a study.

    ``phase`` is ``train``, ``test``, ``note`` or the part of a study; ``number`` the loss or the accuracy there, if
    any. ``reused`` and ``finished`` come once per seed; ``number`` is then the accuracy in distribution.
    """

    job: str
    seed: int
    phase: str
    done: int = 0
    total: int = 0
    number: float = 0.0
    fitted: bool | None = None
    """With the end of a training: whether it fitted."""
    seconds: float | None = None
    together: Sequence[int] = ()
    """The seeds that take the same steps as a stack, this one included; empty for a seed of its own."""
    text: str = ""
    """A line for people, with ``note``; with ``train``, which setting of several this is, if any."""
    instead: Mapping[str, Any] = field(default_factory=dict)
    """With ``note``, options of a call that the line proposes instead."""

    @property
    def ended(self) -> bool:
        """Whether this is the end of a seed."""
        return self.phase in ("reused", "finished")


Progress = Callable[[Event], None]
"""Called with every event."""


def unwatched(event: Event) -> None:
    """A `Progress` to nobody."""


Report = Callable[..., None]
"""Takes phase, done, total and number of an `Event` from a computation that knows neither its name nor its seed."""


def silent(what: str, done: int, total: int, number: float = 0.0, /) -> None:
    """A `Report` to nobody."""


def reporter(job: str, seed: int, progress: Progress, together: Sequence[int] = (), text: str = "") -> Report:
    """A `Report` whose events carry this job, seed and text."""

    def report(what: str, done: int, total: int, number: float = 0.0, /) -> None:
        progress(Event(job, seed, what, done, total, number, together=together, text=text))

    return report
