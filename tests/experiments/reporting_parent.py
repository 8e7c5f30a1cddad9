"""Run by `test_workers.py`: a parent of two processes that report without end, to be killed or interrupted."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from lengthwise.experiments.defaults import recipe_for
from lengthwise.experiments.events import Event
from lengthwise.experiments.recipe import Job
from lengthwise.experiments.workers import run_jobs


def report(job: Job, tell: Callable[[Event], None]) -> None:
    """Tell a step every few milliseconds."""
    step = 0
    while True:
        tell(Event(job.name, job.seeds[0], "train", step := step + 1, 10**9))
        time.sleep(0.002)


def main() -> int:
    experiment = recipe_for("addition", "quick").jobs[0].experiment
    try:
        for event in run_jobs(report, [Job("a", experiment, (seed,)) for seed in range(2)], 2):
            print(event.seed if isinstance(event, Event) else event, flush=True)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
