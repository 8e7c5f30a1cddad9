"""The chance line of a task, from its configuration. A task from a user's own file is never loaded here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


def common_chance(experiments: Iterable[Mapping[str, Any]], length: int, axes: Axes) -> float | None:
    """`chance`, where it is the same for all of these; None where it is not, for one line would be wrong for some."""
    found = {chance(experiment, length, axes) for experiment in experiments}
    return found.pop() if len(found) == 1 else None


def chance(experiment: Mapping[str, Any], length: int, axes: Axes) -> float | None:
    """Probability of guessing the answer (not its trace) at a length and axes; None where there is no such line."""
    task = known_task(experiment)
    if task is None:
        return None
    wanted = set(axes)
    layouts = [layout for layout in task.test_layouts(length) if wanted <= set(layout.axes.items())]
    layout = layouts[0] if layouts else task.layout(length, stream(0, "chance", length))
    value = task.chance(layout)
    # A chance of 1 (one chain: one candidate) is no line to compare with.
    return value if 0 < value < 1 else None
