"""A time budget of a search: it ends with an outcome, and says that it is at work after 5 s and then every 10 s."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from lengthwise.core.errors import OutOfTimeError

FIRST_WORD, NEXT_WORD = 5.0, 10.0
"""Seconds until a search first says that it is at work, and from one such line to the next."""


def duration(seconds: float) -> str:
    """``45 s``, ``6 min`` or ``3 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"


@dataclass
class _Budget:
    started: float
    seconds: float
    progress: Callable[[str], None]
    next_word: float


@dataclass
class _Doing:
    """What is at work, in a few words, for whoever says that something is; empty where that is not known."""

    now: str = ""


DOING = _Doing()
_BUDGET: ContextVar[_Budget | None] = ContextVar("time budget", default=None)


@contextmanager
def time_budget(seconds: float | None, progress: Callable[[str], None] = lambda line: None) -> Iterator[None]:
    """Let `check_time` in the block raise `OutOfTimeError` after so many seconds (None: never).

    ``progress`` gets a line with the seconds so far.
    """
    now = time.monotonic()
    before = _BUDGET.set(_Budget(now, math.inf if seconds is None else seconds, progress, now + FIRST_WORD))
    try:
        yield
    finally:
        _BUDGET.reset(before)


def check_time() -> None:
    """Called often inside of a search; raises `OutOfTimeError` where the budget around it is used up."""
    budget = _BUDGET.get()
    if budget is None:
        return
    now = time.monotonic()
    if now - budget.started > budget.seconds:
        raise OutOfTimeError(f"searched for {budget.seconds:g} s, not finished")
    if now > budget.next_word:
        budget.next_word = now + NEXT_WORD
        budget.progress(f"searching for {now - budget.started:.0f} s")
