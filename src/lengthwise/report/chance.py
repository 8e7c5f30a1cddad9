"""Computes the chance accuracy of a registered task from its configuration; task files of users are not loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.result_file import Axes
from lengthwise.core.rng import stream
from lengthwise.core.user.file import no_new_code
from lengthwise.tasks import TASKS, Task


def known_task(experiment: Mapping[str, Any]) -> Task | None:
    """The built-in task of a configuration; None for other tasks, whose files or packages would run code."""
    spec = experiment["task"]
    if not TASKS.is_built_in(spec["name"]):
        return None
    try:
        with no_new_code():  # a task inside the task may be of a file
            return TASKS.build(dict(spec))
    except LengthwiseError:
        return None


def common_chance(experiments: Iterable[Mapping[str, Any]], length: int, axes: Axes) -> float | None:
    """`chance` if it is equal for all experiments, else None."""
    found = {chance(experiment, length, axes) for experiment in experiments}
    return found.pop() if len(found) == 1 else None


def chance(experiment: Mapping[str, Any], length: int, axes: Axes) -> float | None:
    """Probability of guessing the answer, without its trace, at a length and axes; None if 0, 1 or unknown."""
    task = known_task(experiment)
    if task is None:
        return None
    wanted = set(axes)
    layouts = [layout for layout in task.test_layouts(length) if wanted <= set(layout.axes.items())]
    layout = layouts[0] if layouts else task.layout(length, stream(0, "chance", length))
    value = task.chance(layout)
    return value if 0 < value < 1 else None
