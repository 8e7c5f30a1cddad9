"""How far systems go, and their one order: by the median reach of all seeds, ties by their mean beyond training."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import takewhile
from statistics import fmean, median_low

from lengthwise.core.result_file import Axes, RunResult

REACH = 0.95
"""The share of right strings up to which a system is said to go on."""
RULE = "by the median reach of all seeds, ties by their mean beyond training"
"""The order of systems in words."""


def rates_by_length(
    result: RunResult,
    metric: str = "exact_match",
    lengths: Collection[int] | None = None,
    layouts: Collection[Axes] | None = None,
) -> dict[int, float]:
    """Exact match, or another metric, by length, of these lengths; of several of these layouts, that of the worst."""
    found: dict[int, float] = {}
    for score in result.lower:
        if (lengths is None or score.length in lengths) and (layouts is None or tuple(score.axes.items()) in layouts):
            rate = score.rate(metric) if metric in score.correct else 0.0
            found[score.length] = min(rate, found.get(score.length, 1.0))
    return found


def reach(rates: dict[int, float]) -> int:
    """The longest tested length up to which every tested length has at least 95 % of its strings right; 0 if none.

    ``rates`` is the exact match by length.
    """
    passed = list(takewhile(lambda length: rates[length] >= REACH, sorted(rates)))
    return passed[-1] if passed else 0


def seed_far(
    result: RunResult,
    trained: int,
    metric: str = "exact_match",
    lengths: Collection[int] | None = None,
    layouts: Collection[Axes] | None = None,
) -> tuple[int, float]:
    """The reach of one seed, and its mean at lengths beyond ``trained``; both are 0 if it did not fit."""
    if not result.fitted:
        return 0, 0.0
    rates = rates_by_length(result, metric, lengths, layouts)
    beyond = [rate for length, rate in rates.items() if length > trained]
    return reach(rates), fmean(beyond) if beyond else 0.0


def how_far(
    results: Sequence[RunResult],
    trained: int,
    metric: str = "exact_match",
    lengths: Collection[int] | None = None,
    layouts: Collection[Axes] | None = None,
) -> tuple[int, float]:
    """The median reach and the mean beyond training of all seeds: a system with the higher pair is the better one."""
    far = [seed_far(result, trained, metric, lengths, layouts) for result in results]
    return (median_low(reached for reached, _ in far), fmean(mean for _, mean in far)) if far else (0, 0.0)
