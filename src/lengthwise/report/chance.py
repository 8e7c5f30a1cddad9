"""The chance line of a task, from its configuration. A task from a user's own file is never loaded here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.report.result import Axes
from lengthwise.tasks import TASKS, Task


def known_task(experiment: Mapping[str, Any]) -> Task | None:
    """The registered task of a configuration; None for an unknown one or a file of the user's, which would run code."""
    spec = experiment["task"]
    if spec["name"] not in TASKS:
        return None
    try:
        return TASKS.build(dict(spec))
    except LengthwiseError:
        return None


def chance(experiment: Mapping[str, Any], length: int, axes: Axes) -> float | None:
    """Probability of guessing the answer right at a length and axes; None where the task states none."""
    task = known_task(experiment)
    if task is None:
        return None
    wanted = set(axes)
    layouts = [layout for layout in task.test_layouts(length) if wanted <= set(layout.axes.items())]
    layout = layouts[0] if layouts else task.layout(length, stream(0, "chance", length))
    return task.chance(layout) or None
