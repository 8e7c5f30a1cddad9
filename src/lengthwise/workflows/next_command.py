"""From a verdict to training: the command that trains the position system which the verdict recommends."""

from __future__ import annotations

import shlex

from lengthwise.core.errors import LengthwiseError
from lengthwise.experiments import recipes as _recipes  # noqa: F401
from lengthwise.experiments.defaults import recipe_for
from lengthwise.experiments.recipe import Job
from lengthwise.experiments.run_config import RunConfig
from lengthwise.prediction.verdict import SYSTEMS, Prediction
from lengthwise.tasks import TASKS

VERIFY, COMPARE = "30m", "10m"
"""Budgets: that of `verify` pays for five seeds of three rungs."""


def training_command(target: str, prediction: Prediction) -> str:
    """What to type to train on the target of a prediction; empty where no command trains on it.

    For a task this is ``run`` with the first system of its recipe whose verdict is *yes*. Where there is none,
    ``compare`` ranks all systems. For a language, ``verify`` trains on it and compares the result with the verdict.
    """
    word = shlex.quote(target)
    if prediction.kind in ("program", "examples") or target.endswith(".json"):
        return ""
    if prediction.kind == "language" or (target not in TASKS and ".py" not in target):
        return f"lengthwise verify {word} --budget {VERIFY}"
    recommended = {v.system for v in prediction.verdicts if v.answer == "yes" and not v.measured_otherwise}
    try:
        jobs = recipe_for(target, "quick").jobs
    except LengthwiseError:
        return ""
    for job in jobs:
        if not job.extra and _system(job, TASKS.build(target).name) in recommended:
            return f"lengthwise run {word} --only {shlex.quote(job.name)}"
    return f"lengthwise compare {word} --budget {COMPARE}"


def _system(job: Job, task: str) -> str | None:
    """The name in verdicts of what a job trains; None if it is of another task or has no verdict."""
    made = job.works[0]
    if not isinstance(made, RunConfig) or made.task.name != task:
        return None
    trained = made.scheme.name, bool(getattr(made.scheme, "random_start", False)), made.encoding.name
    for system in SYSTEMS:
        if trained == (system.scheme["name"], bool(system.scheme.get("random_start", False)), system.encoding):
            return system.name
    return None
