"""The estimate of how long a sweep trains: from its first steps, weighted by layers."""

from __future__ import annotations

import dataclasses
import io

import pytest
from rich.console import Console

from lengthwise.api import progress
from lengthwise.api.progress import SweepProgress, TrainingClock
from lengthwise.experiments.defaults import default_recipe
from lengthwise.experiments.events import Event
from lengthwise.experiments.recipe import Recipe
from lengthwise.tasks import TASKS


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    return clock


def two_systems(early: str = "false") -> Recipe:
    """A system of one layer and one of three, 100 steps and two seeds each; whether a seed ends once it fits."""
    recipe = default_recipe(TASKS.build("copy")).edited(
        ["training.steps=100", f"training.stop_when_fitted={early}", "training.probe_every=25"], 2
    )
    jobs = tuple(job for job in recipe.jobs if job.experiment.model.layers in (1, 3))
    return dataclasses.replace(recipe, jobs=(jobs[0], jobs[-1]))


def train(clock: TrainingClock, now: list[float], job: str, seconds: float, first: int = 0) -> None:
    for step in range(first + 10, 101, 10):
        clock.observe(Event(job, 0, "train", step, 100, 1.0))
        now[0] += seconds


def test_nothing_is_said_before_there_is_something_to_say(now: list[float]) -> None:
    clock = TrainingClock(two_systems())
    clock.observe(Event(two_systems().jobs[0].name, 0, "train", 10, 100))
    assert (clock.left(), clock.in_all()) == ("", "")
    now[0] += 60
    assert clock.left() == "", "one step is no pace"


def test_the_whole_time_follows_from_the_pace_and_the_layers(now: list[float]) -> None:
    recipe = two_systems()
    clock = TrainingClock(recipe)
    name = recipe.jobs[0].name
    for step in (10, 20, 30):
        clock.observe(Event(name, 0, "train", step, 100))
        now[0] += 5.0
    now[0] -= 5.0
    # 20 steps of one layer took 10 s: 70 + 100 steps of one layer and 200 of three are left, 0.5 s a step and layer.
    assert clock.left() == "about 6 min left", (70 + 100 + 600) * 0.5
    assert (
        clock.in_all()
        == "4 runs of 2 systems: at most about 7 min of training in all, by its first steps; tests come on top"
    )
    assert clock.in_all() == "", "once"


def test_of_runs_that_end_once_they_fit_the_time_is_a_range(now: list[float]) -> None:
    recipe = two_systems("true")
    clock = TrainingClock(recipe)
    train(clock, now, recipe.jobs[0].name, 10.0)
    # 90 steps of one layer took 100 s: a quarter of the steps may be enough, and all of them may be needed.
    assert clock.left().startswith("at most ")
    assert "4 runs of 2 systems: 4 min to 15 min of training, as a run ends once it fits" in clock.in_all()


def test_finished_and_reused_seeds_take_no_time(now: list[float]) -> None:
    recipe = two_systems()
    clock = TrainingClock(recipe)
    for job in recipe.jobs:
        clock.observe(Event(job.name, 1, "reused"))
    clock.observe(Event(recipe.jobs[1].name, 0, "reused"))
    train(clock, now, recipe.jobs[0].name, 1.0, first=50)
    assert clock.left() == "about 0 s left"


def test_a_run_without_a_terminal_says_its_total_time(now: list[float]) -> None:
    text, recipe = io.StringIO(), two_systems()
    shown = SweepProgress(Console(file=text, width=60), recipe)
    for step in range(10, 101, 10):
        shown(Event(recipe.jobs[0].name, 0, "train", step, 100, 0.5))
        now[0] += progress.QUIET_SECONDS / 2
    lines = text.getvalue().splitlines()
    assert sum("of training in all" in line for line in lines) == 1
    assert all(" left" in line for line in lines if " of 100" in line)


def test_a_loop_for_each_token_counts_as_many_layers(now: list[float]) -> None:
    recipe = two_systems().edited(["model.loops=tokens", "training.max_length=8"], 2)
    clock = TrainingClock(recipe)
    train(clock, now, recipe.jobs[0].name, 10.0)
    # 90 steps of 8 layers took 100 s: 100 of 8 and 200 of 24 are left.
    assert clock.left() == "about 13 min left", (100 * 8 + 200 * 24) * 100 / (90 * 8)
