"""What a run reports while it works: one protocol for trainings, tests and studies, within a process and across."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@runtime_checkable
class Report(Protocol):
    """Called with progress."""

    def __call__(self, what: str, done: int, total: int, number: float = 0.0, /) -> None:
        """``what`` is ``train``, ``test`` or the part of a study; ``number`` the loss or the accuracy there, if any."""
        ...


def silent(what: str, done: int, total: int, number: float = 0.0, /) -> None:
    """A `Report` to nobody."""


@dataclass(frozen=True)
class Event:
    """What a sweep is doing: ``done`` of ``total`` steps, tested cells or parts of a study; see `Report` for the rest.

    ``reused`` and ``finished`` come once per seed; ``number`` is then the accuracy in distribution.
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

    @property
    def ended(self) -> bool:
        """Whether this is the end of a seed."""
        return self.phase in ("reused", "finished")
