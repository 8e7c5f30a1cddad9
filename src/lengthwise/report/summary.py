"""Groups results by system and computes medians over the fitted seeds at each length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from lengthwise.core.config import canonical_json
from lengthwise.core.result_file import Axes, Score
from lengthwise.prediction.shown_task.stored_task import StoredTask
from lengthwise.report.result import SeedResult
from lengthwise.report.statistics import Estimate, estimate

INTERVAL = (
    "median over the fitted seeds with a 95 % interval: over strings (Wilson) for one seed, "
    "over seeds and strings (bootstrap) for several; that of 3 seeds covers the true median 75 % of the time at most, "
    "of 5 seeds 94 %"
)


@dataclass(frozen=True)
class Cell:
    """The scores of one system's fitted seeds at one length and axes."""

    length: int
    axes: Axes
    scores: tuple[Score, ...]

    def estimate(self, metric: str = "exact_match") -> Estimate | None:
        """Median and interval of a metric; None if a seed lacks it."""
        counts = [score.correct.get(metric) for score in self.scores]
        if any(count is None for count in counts):
            return None
        return estimate([count for count in counts if count is not None], [score.n for score in self.scores])

    @cached_property
    def first_errors(self) -> Counter[str]:
        """Numbers of strings by the kind of their first error, over all fitted seeds."""
        total: Counter[str] = Counter()
        for score in self.scores:
            total.update(score.first_error)
        return total


@dataclass(frozen=True)
class SystemSummary:
    """The results of one system, with one configuration, for all seeds.

    ``name`` is the same alone and among others; ``settings`` says what tells it from others of its name, if any.
    """

    recipe: str
    name: str
    results: tuple[SeedResult, ...]
    settings: str = ""

    @property
    def label(self) -> str:
        """The name, with the settings in brackets."""
        return f"{self.name} ({self.settings})" if self.settings else self.name

    @property
    def experiment(self) -> dict[str, Any]:
        """The configuration of the experiment."""
        return dict(self.results[0].experiment)

    @property
    def task(self) -> StoredTask | None:
        """What the result files say of a task of the user's own."""
        return next((result.stored for result in self.results if result.stored is not None), None)

    @property
    def max_length(self) -> int:
        """Longest training length."""
        return self.results[0].max_length

    @property
    def fitted(self) -> tuple[SeedResult, ...]:
        """The results of the seeds that fitted in distribution."""
        return tuple(result for result in self.results if result.fitted)

    @cached_property
    def in_distribution(self) -> Estimate:
        """Exact match at training lengths, over all seeds."""
        scores = [result.in_distribution for result in self.results]
        return estimate([score.correct["exact_match"] for score in scores], [score.n for score in scores])

    @cached_property
    def unfitted_cells(self) -> tuple[Cell, ...]:
        """The cells of the seeds where none fitted and all were measured all the same (``unfitted_too``)."""
        wanted = self.experiment.get("evaluation", {}).get("unfitted_too", False)
        return self._cells(self.results) if wanted and not self.fitted else ()

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """One cell per axes and length; empty if no seed fitted."""
        return self._cells(self.fitted)

    @staticmethod
    def _cells(results: Sequence[SeedResult]) -> tuple[Cell, ...]:
        cells: dict[tuple[int, Axes], list[Score]] = {}
        for result in results:
            for score in result.scores:
                cells.setdefault((score.length, tuple(score.axes.items())), []).append(score)
        return tuple(Cell(length, axes, tuple(scores)) for (length, axes), scores in cells.items())


def summarize(results: Iterable[SeedResult]) -> list[SystemSummary]:
    """Group results by recipe, system and configuration.

    Where a system has several configurations, ``settings`` has those that differ.
    """
    groups: dict[tuple[str, str, str], list[SeedResult]] = {}
    for result in results:
        groups.setdefault((result.recipe, result.system, canonical_json(result.experiment)), []).append(result)
    names = Counter((recipe, system) for recipe, system, _ in groups)
    summaries = []
    for (recipe, system, _), members in groups.items():
        settings = ""
        if names[recipe, system] > 1:
            rivals = [g[0].experiment for (r, s, _), g in groups.items() if (r, s) == (recipe, system)]
            settings = _differences(members[0].experiment, rivals)
        in_order = tuple(sorted(members, key=lambda result: result.seed))
        summaries.append(SystemSummary(recipe, system, in_order, settings))
    return summaries


def _differences(experiment: Any, rivals: Sequence[Any]) -> str:
    """The fewest settings that distinguish the rivals, as ``width=128``, in the order of `SECTIONS`."""
    flat = [_flat(rival) for rival in rivals]
    keys = {key for values in flat for key in values if len({repr(other.get(key)) for other in flat}) > 1}
    ranked = sorted(keys, key=lambda key: (SECTIONS.index(key.partition(".")[0]), key))
    mine, distinct = _flat(experiment), len({canonical_json(rival) for rival in rivals})
    for count in range(1, len(ranked) + 1):
        for some in combinations(ranked, count):
            if len({tuple(repr(values.get(key)) for key in some) for values in flat}) == distinct:
                return ", ".join(f"{key.rpartition('.')[2]}={mine[key]}" for key in some if key in mine)
    return ""


SECTIONS = ("model", "scheme", "encoding", "task", "training", "evaluation")
"""Parts of a configuration, in the order in which they name a system."""


def _flat(values: Any, prefix: str = "") -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            result |= _flat(value, f"{prefix}{key}.")
        else:
            result[f"{prefix}{key}"] = value
    return result


def panel_axes(cells: Iterable[Cell]) -> tuple[str, ...]:
    """The fewest axes that distinguish all cells of equal length; each of their values becomes a panel.

    For 4 chains of n/4 lines and one chain of n lines this is ``("chains",)``, which determines the depth.
    """
    layouts = {(cell.length, cell.axes) for cell in cells}
    names = sorted(
        {name for _, axes in layouts for name, _ in axes},
        key=lambda name: (len({dict(axes).get(name) for _, axes in layouts}), name),
    )
    for count in range(len(names) + 1):
        for some in combinations(names, count):
            if len({(length, panel_of(axes, some)) for length, axes in layouts}) == len(layouts):
                return some
    return tuple(names)


def panel_of(axes: Axes, keys: Sequence[str]) -> Axes:
    """The part of ``axes`` named by ``keys``."""
    return tuple((name, value) for name, value in axes if name in keys)


def axes_text(axes: Axes) -> str:
    """Text such as ``chains 4, depth 20``."""
    return ", ".join(f"{name} {value}" for name, value in axes)


def differing_settings(systems: Sequence[SystemSummary]) -> list[dict[str, Any]]:
    """The settings that differ, as ``{"key", "values"}`` with one value per system, None where absent."""
    flat = [_flat(system.experiment) for system in systems]
    keys = sorted({key for values in flat for key in values})
    return [
        {"key": key, "values": [values.get(key) for values in flat]}
        for key in keys
        if len({repr(values.get(key)) for values in flat}) > 1
    ]
