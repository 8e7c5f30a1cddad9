"""Estimates how long a sweep still trains, from the steps that it has made: layers × steps is taken as the work."""

from __future__ import annotations

import time

from lengthwise.experiments.events import Event
from lengthwise.experiments.recipe import Job, Recipe, Study

FIRST_SECONDS = 5.0
"""How long training is timed before the first estimate."""


class TrainingClock:
    """Counts the work that is done and the time that it took. Tests of the models are no work, but take time."""

    def __init__(self, recipe: Recipe) -> None:
        self._jobs = {job.name: job for job in recipe.jobs}
        self._left = {(job.name, seed): _work(job) for job in recipe.jobs for seed in job.seeds}
        self._done: dict[tuple[str, int], int] = {}
        self._made = 0.0
        self._started: float | None = None
        self._told = False

    def observe(self, event: Event) -> None:
        """Take note of an event of the sweep."""
        work = _per_step(self._jobs[event.job])
        if event.phase == "train" and self._started is None:
            # Steps of an interrupted run are not made now, and the first step is slower than others.
            self._started = time.monotonic()
        for seed in event.together or (event.seed,):
            key = event.job, seed
            if event.phase == "train":
                self._made += (event.done - self._done.get(key, event.done)) * work
                self._done[key] = event.done
                self._left[key] = (event.total - event.done) * work
            elif event.ended or event.phase == "test":
                self._left[key] = 0.0

    def left(self) -> str:
        """About how long the sweep still trains, in words; empty where it is too early to say."""
        seconds = self._seconds_left()
        return "" if seconds is None else f"about {_in_words(seconds)} left"

    def in_all(self) -> str:
        """One line on how long the sweep trains in all, once, as soon as it can be said; empty before and after."""
        seconds = None if self._told else self._seconds_left()
        if seconds is None or self._started is None:
            return ""
        self._told = True
        seconds += time.monotonic() - self._started
        counts = (len(self._left), "run"), (len(self._jobs), "system")
        runs, systems = (f"{count} {what}{'s' * (count > 1)}" for count, what in counts)
        return (
            f"{runs} of {systems}: about {_in_words(seconds)} of training in all, by its first steps; tests come on top"
        )

    def _seconds_left(self) -> float | None:
        passed = 0.0 if self._started is None else time.monotonic() - self._started
        if passed < FIRST_SECONDS or self._made <= 0:
            return None
        return passed / self._made * sum(self._left.values())


def _per_step(job: Job) -> float:
    if isinstance(job.work, Study):
        return 0.0
    model, training = job.experiment.model, job.experiment.training
    return float(model.layers * model.loops_for(training.max_length))


def _work(job: Job) -> float:
    """The work of one seed."""
    return _per_step(job) * job.steps / len(job.seeds)


def _in_words(seconds: float) -> str:
    """``40 s``, ``4 min`` or ``1.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
