"""The processor time of an explanation: what a string of each length takes, and when no more are asked."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time

from lengthwise.core.deadline import DOING
from lengthwise.core.errors import OutOfTimeError

MANY = 4096
"""About so many strings of a length are asked in all: where these take longer than all the time, it is a costly one."""
FEW = 32
"""Random strings of a costly length."""
PART = 1 / 16
"""Of the time, for one run of the model; between two of them is looked at the clock."""
EARLY, LATE = 0.5, 0.75
"""Of the time, after which no more lengths are asked, and no more strings; the rest is for what is told of them."""


class Clock:
    """The time that an explanation has; without ``seconds`` there is no end of it."""

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds, self.stage, self.asked = seconds, "", 0
        self.ended = False
        """Whether something was left out for want of time."""
        self._began, self._each = process_time(), dict[int, float]()
        self._limited = True

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return process_time() - self._began

    @contextmanager
    def asks(self, length: int, strings: int) -> Iterator[None]:
        """Around a run of the model: takes its time. Raises `OutOfTimeError` where no time is left."""
        before = self.spent
        if self._limited and before > self.seconds:
            self.ended = True
            raise OutOfTimeError
        if self.seconds < math.inf:
            done = f"{self.asked} strings so far, {before:.0f} of {self.seconds:.0f} s of processor time"
            DOING.now = f"{self.stage}, length {length}, {done}"
        yield
        self.asked += strings
        self._each[length] = min(self._each.get(length, math.inf), (self.spent - before) / strings)

    @contextmanager
    def unlimited(self) -> Iterator[None]:
        """While active, the model is asked though no time is left."""
        before, self._limited = self._limited, False
        try:
            yield
        finally:
            self._limited = before

    def each(self, length: int) -> float:
        """The seconds of a string; where none was asked, from the lengths around; 0 where nothing is known."""
        if length in self._each or not self._each:
            return self._each.get(length, 0.0)
        known = sorted(self._each)
        at = bisect_left(known, length)
        if at == len(known):
            return self._each[known[-1]] * (length / max(1, known[-1])) ** 2
        low, high = known[max(0, at - 1)], known[at]
        share = (length - low) / (high - low) if at else 1.0
        return (1 - share) * self._each[low] + share * self._each[high]

    def costly(self, length: int) -> bool:
        """Whether a length is too costly for all that is asked of others."""
        return MANY * self.each(length) > self.seconds

    def at_once(self, length: int) -> int:
        """How many strings a run of the model may have: it takes no more than a `PART` of the time, about."""
        each = self.each(length)
        return max(1, int(min(PART * self.seconds, MANY * each) / each)) if each else MANY

    def has(self, length: int, strings: int, until: float = LATE) -> bool:
        """Whether so many strings can be asked until this share of the time is over."""
        enough = self.spent + strings * self.each(length) <= until * self.seconds
        self.ended = self.ended or not enough
        return enough
