"""How other tasks came out that were trained with a position system."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from functools import cache
from typing import Any

from lengthwise.core.errors import shortened
from lengthwise.measured.cells import MeasuredCell, cells
from lengthwise.positions.system import PositionSystem
from lengthwise.prediction.measured import task_identity, trained_with

NEAR = 1.6
"""Tests within this factor of M / N are shown as measured."""


@cache
def others_measured(system: PositionSystem, ratio: float, theory: str = "") -> dict[str, list[float]]:
    """For each task that was trained with a system, its accuracy near this ratio in each setting.

    With ``theory`` (`Verdict.short`) only tasks of which theory says this under the system.
    """
    by_task: dict[str, list[float]] = {}
    for cell in cells():
        if cell.format != "answer" or not trained_plainly(cell, system):
            continue
        if theory in ("", cell.theory.get(system.known_as)) and (place := bin_of(ratio, cell)) is not None:
            by_task.setdefault(name_in_full(cell.task), []).append(cell.accuracy(*place) or 0.0)
    return dict(sorted(by_task.items()))


def name_in_full(task: Mapping[str, Any]) -> str:
    """The name of a task with the settings that make it another task, in brackets."""
    name, *more = task_identity(task).items()
    settings = ", ".join(
        key if value is True else f"{key} {shortened(str(value), 20)}" for key, value in more if value is not False
    )
    return f"{name[1]} ({settings})" if settings else str(name[1])


@cache
def others_by_name(system: PositionSystem, ratio: float, cut: float, theory: str = "") -> dict[str, bool]:
    """For each of `others_measured`, whether it was right by its median setting."""
    found = others_measured(system, ratio, theory)
    return {name: statistics.median(settings) >= cut for name, settings in found.items()}


def bin_of(ratio: float, cell: MeasuredCell) -> tuple[int, int] | None:
    """The tested lengths of a cell whose middle is nearest to M / N, within the factor `NEAR`.

    Tests that differ beside the length count as one, by their hardest (`MeasuredCell.accuracy`).
    """
    places = {(t.low, t.high) for t in cell.tests if t.low > cell.train}
    if not places:
        return None
    apart = {place: abs(math.log(sum(place) / 2 / cell.train / ratio)) for place in places}
    best = min(apart, key=lambda place: (apart[place], place))
    return best if apart[best] <= math.log(NEAR) else None


def trained_plainly(cell: MeasuredCell, system: PositionSystem) -> bool:
    """Whether a cell was trained with a system, without further changes."""
    return trained_with(cell, system) and not any(mark in cell.system for mark in ("+reg", "no-qk"))
