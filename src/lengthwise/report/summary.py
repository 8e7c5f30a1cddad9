"""Results joined by system: how many seeds fitted, and the median over those at each length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from lengthwise.core.config import canonical_json
from lengthwise.report.result import Axes, Result, Score
from lengthwise.report.statistics import Estimate, estimate

INTERVAL = (
    "median over the fitted seeds with a 95 % interval: over strings (Wilson) for one seed, "
    "over seeds and strings (bootstrap) for several"
)


@dataclass(frozen=True)
class Cell:
    """The fitted seeds of one system at one length and axes."""

    length: int
    axes: Axes
    scores: tuple[Score, ...]

    def estimate(self, metric: str = "exact_match") -> Estimate | None:
        """Median and interval; None where a seed lacks the metric."""
        counts = [score.correct.get(metric) for score in self.scores]
        if any(count is None for count in counts):
            return None
        return estimate([count for count in counts if count is not None], [score.n for score in self.scores])

    @cached_property
    def first_errors(self) -> Counter[str]:
        """Strings by what goes wrong first, over all fitted seeds."""
        total: Counter[str] = Counter()
        for score in self.scores:
            total.update(score.first_error)
        return total


@dataclass(frozen=True)
class SystemSummary:
    """All seeds of one system (one configuration)."""

    recipe: str
    name: str
    results: tuple[Result, ...]

    @property
    def experiment(self) -> dict[str, Any]:
        """The configuration."""
        return dict(self.results[0].experiment)

    @property
    def max_length(self) -> int:
        """The longest training length."""
        return self.results[0].max_length

    @property
    def fitted(self) -> tuple[Result, ...]:
        """The seeds that fitted in distribution: only they take part in a claim."""
        return tuple(result for result in self.results if result.fitted)

    @cached_property
    def in_distribution(self) -> Estimate:
        """Exact match at training lengths, over all seeds."""
        scores = [result.in_distribution for result in self.results]
        return estimate([score.correct["exact_match"] for score in scores], [score.n for score in scores])

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """By axes, then length; empty if no seed fitted."""
        cells: dict[tuple[int, Axes], list[Score]] = {}
        for result in self.fitted:
            for score in result.scores:
                cells.setdefault((score.length, score.axes), []).append(score)
        return tuple(Cell(length, axes, tuple(scores)) for (length, axes), scores in cells.items())


def summarize(results: Iterable[Result]) -> list[SystemSummary]:
    """Group results by recipe, system and configuration.

    Where one name stands for several configurations, what differs is added to the name.
    """
    groups: dict[tuple[str, str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.recipe, result.system, canonical_json(result.experiment)), []).append(result)
    names = Counter((recipe, system) for recipe, system, _ in groups)
    summaries = []
    for (recipe, system, _), members in groups.items():
        name = system
        if names[recipe, system] > 1:
            rivals = [g[0].experiment for (r, s, _), g in groups.items() if (r, s) == (recipe, system)]
            name = f"{system} ({_differences(members[0].experiment, rivals)})"
        summaries.append(SystemSummary(recipe, name, tuple(sorted(members, key=lambda result: result.seed))))
    return summaries


def _differences(experiment: Any, rivals: Sequence[Any]) -> str:
    """The fewest settings that tell the rivals apart, as ``width=128``; those of the model before those of the test."""
    flat = [_flat(rival) for rival in rivals]
    keys = {key for values in flat for key in values if len({repr(other.get(key)) for other in flat}) > 1}
    ranked = sorted(keys, key=lambda key: (SECTIONS.index(key.partition(".")[0]), key))
    mine, distinct = _flat(experiment), len({canonical_json(rival) for rival in rivals})
    for count in range(1, len(ranked) + 1):
        for chosen in combinations(ranked, count):
            if len({tuple(repr(values.get(key)) for key in chosen) for values in flat}) == distinct:
                return ", ".join(f"{key.rpartition('.')[2]}={mine[key]}" for key in chosen if key in mine)
    return ""


SECTIONS = ("model", "scheme", "encoding", "task", "training", "evaluation")
"""Parts of a configuration, the ones that say most of a system first."""


def _flat(values: Any, prefix: str = "") -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            result |= _flat(value, f"{prefix}{key}.")
        else:
            result[f"{prefix}{key}"] = value
    return result


def panel_axes(cells: Iterable[Cell]) -> tuple[str, ...]:
    """The fewest axes that, with the length, tell all cells apart: each of their values is a panel of its own.

    With 4 chains of n/4 lines and one chain of n lines this is ``("chains",)``, since depth then follows.
    """
    layouts = {(cell.length, cell.axes) for cell in cells}
    names = sorted({name for _, axes in layouts for name, _ in axes}, key=lambda name: _distinct(layouts, name))
    for count in range(len(names) + 1):
        for chosen in combinations(names, count):
            if len({(length, panel_of(axes, chosen)) for length, axes in layouts}) == len(layouts):
                return chosen
    return tuple(names)


def _distinct(layouts: Iterable[tuple[int, Axes]], name: str) -> tuple[int, str]:
    return len({dict(axes).get(name) for _, axes in layouts}), name


def panel_of(axes: Axes, chosen: Sequence[str]) -> Axes:
    """The values of the chosen axes."""
    return tuple((name, value) for name, value in axes if name in chosen)


def axes_text(axes: Axes) -> str:
    """``4 chains · depth 20``-like text: ``chains 4, depth 20``."""
    return ", ".join(f"{name} {value}" for name, value in axes)


def differing_settings(systems: Sequence[SystemSummary]) -> list[dict[str, Any]]:
    """Settings that are not the same in all systems: ``{"key", "values"}``, one value per system, None if absent."""
    flat = [_flat(system.experiment) for system in systems]
    keys = sorted({key for values in flat for key in values})
    return [
        {"key": key, "values": [values.get(key) for values in flat]}
        for key in keys
        if len({repr(values.get(key)) for values in flat}) > 1
    ]
