"""The sides of a baseline that sleeps and fails, in a module that a process imports quickly."""

from __future__ import annotations

import time

from baselines.process import Sides


def sleeper(seconds: float) -> Sides:
    def fail(repeat: int) -> None:
        raise ValueError(f"no repeat {repeat}")

    return {"sleep": lambda repeat: time.sleep(seconds), "fail": fail}
