"""`compare`: which position system goes farthest on a task, measured under one budget."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.api.components import task as build_task
from lengthwise.core import config as arguments
from lengthwise.core.table import Table, Tabular
from lengthwise.report.pages import comparison_table
from lengthwise.tasks import Task

if TYPE_CHECKING:
    from lengthwise.report.figures import Drawing


class Comparison(Tabular):
    """The position systems of one task, ranked by how far they go; ``values`` are the contents of comparison.json."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def table(self) -> Table:
        """One row per system, best first."""
        return comparison_table(self.values)

    def plot(self) -> Drawing:
        """The picture of the ranking; raises `LengthwiseError` if no seed was finished."""
        from lengthwise.core.errors import LengthwiseError
        from lengthwise.report.figures import draw_comparison

        figure = draw_comparison(self.values)
        if figure is None:
            raise LengthwiseError("no seed was finished within the budget; give a larger budget")
        return figure

    def setting(self, system: str | None = None) -> dict[str, Any]:
        """The arguments for `Experiment` that train a system again, by default the best one.

        Raises `UnknownNameError` for a system without a setting.
        """
        from lengthwise.core.errors import UnknownNameError

        known = {row["system"]: row["copy"] for row in self.values["systems"] if row["copy"] is not None}
        wanted = next(iter(known), "the best") if system is None else system
        if wanted not in known:
            raise UnknownNameError("system of this comparison", wanted, known)
        return known[wanted]


def compare(
    task: str | Task | dict[str, Any],
    systems: Sequence[str] = (),
    *,
    budget: float | str = 600.0,
    seeds: int = 3,
    jobs: int = 1,
    max_length: int = 6,
    out: str | Path = "runs/compare",
) -> Comparison:
    """Train every sensible position system on a task within ``budget`` (seconds, or ``"10m"``), and rank them.

    ``task`` is a name, a `Task` or ``"path/to/file.py:Class"``. ``systems`` are names such as ``"coupled"``,
    ``"rope"`` or ``"pose+rope"``; ``["all"]`` takes every sensible one. All systems get the same number of steps and
    the same grid of settings, chosen by the fit on lengths up to ``max_length``. Results go to a folder of ``out``,
    where the same call goes on. Raises `LengthwiseError` for unknown names and budgets that are too small.
    """
    from lengthwise.cli.verify import read_budget
    from lengthwise.experiments.compare import Budget
    from lengthwise.experiments.defaults import folder_name
    from lengthwise.workflows.compare import compare as run

    built = build_task(task)
    folder = arguments.path("out", out) / folder_name(built)
    seconds = read_budget(budget) if isinstance(budget, str) else arguments.number("budget", budget, 0)
    given = Budget(seconds, arguments.whole("jobs", jobs, 1), arguments.whole("seeds", seeds, 1))
    longest = arguments.whole("max_length", max_length, 1)
    done = run(built, folder, systems=arguments.names("systems", systems), budget=given, max_length=longest)
    return Comparison(done.values)
