"""Differences between systems beyond training, by an exact test of each pair at each length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean

from lengthwise.core.result_file import Axes
from lengthwise.core.statistics import LEVEL, holm, rank_test
from lengthwise.report.summary import SystemSummary


@dataclass(frozen=True)
class Difference:
    """Two systems at one length beyond training: the accuracy of their fitted seeds, and the exact rank test."""

    one: SystemSummary
    other: SystemSummary
    length: int
    axes: Axes
    rates: tuple[float, ...]
    other_rates: tuple[float, ...]
    p: float
    holm: float
    """p, corrected for all tests that were made with it."""
    made: int = 1
    """How many these are."""
    hidden: bool = False
    """Whether some of these are of systems that are not shown."""

    @property
    def apart(self) -> bool:
        """Whether every seed of the first system is above every seed of the other."""
        return min(self.rates) > max(self.other_rates)

    @property
    def sure(self) -> bool:
        """Whether the first system is significantly above the other."""
        return self.holm <= 1 - LEVEL and fmean(self.rates) > fmean(self.other_rates)

    @property
    def turned(self) -> Difference:
        """The same test, with the other system first."""
        return replace(self, one=self.other, other=self.one, rates=self.other_rates, other_rates=self.rates)


Pair = tuple[SystemSummary, SystemSummary, int, Axes, tuple[float, ...], tuple[float, ...], float]
"""Two systems at a length with these axes, their rates, and p."""


def differences(
    systems: Sequence[SystemSummary],
    metric: str = "exact_match",
    against: Sequence[SystemSummary] = (),
    whole: Sequence[SystemSummary] = (),
) -> list[Difference]:
    """All pairs of systems, or of any with one of ``against``, at the lengths beyond training that both were tested at.

    Systems of different tasks are no pairs. p is corrected for all tests of a task, shown or not, also of those systems
    of ``whole`` that these were chosen from, since a choice may have followed the results.
    """
    # A system under another label has the same runs.
    chosen, found = {id(system.results[0]): system for system in systems}, dict[str, list[Pair]]()
    every = [chosen.get(id(system.results[0]), system) for system in whole or systems]
    for one, other in combinations(every, 2):
        if one.contest != other.contest:
            continue
        cells = {(cell.length, cell.axes): cell for cell in other.every_cell}
        for cell in sorted(one.every_cell, key=lambda cell: (cell.axes, cell.length)):
            rival = cells.get((cell.length, cell.axes))
            if rival is None or cell.length <= max(one.max_length, other.max_length):
                continue
            scores = [*cell.scores, *rival.scores]
            if all(metric in score.correct for score in scores):
                x, y = (tuple(score.rate(metric) for score in of.scores) for of in (cell, rival))
                found.setdefault(one.contest, []).append((one, other, cell.length, cell.axes, x, y, rank_test(x, y)))
    kept = {id(one): {cell.axes for cell in one.cells} if id(one.results[0]) in chosen else () for one in every}
    shown = list[Difference]()
    for tests in found.values():
        hidden = any(id(of.results[0]) not in chosen for one, other, *_ in tests for of in (one, other))
        for (one, other, length, axes, x, y, p), corrected in zip(tests, holm([p for *_, p in tests]), strict=True):
            if axes in kept[id(one)] and axes in kept[id(other)]:
                shown.append(Difference(one, other, length, axes, x, y, p, corrected, len(tests), hidden))
    if not against:
        return shown
    those = {id(one) for one in against}
    return [test if id(test.other) in those else test.turned for test in shown
            if those & {id(test.one), id(test.other)}]  # fmt: skip


def lengths_above(tests: Iterable[Difference], surely: bool = False) -> list[int]:
    """The lengths at which, in every layout, the first system is above the other: significantly, or in every seed.

    ``surely``: significantly.
    """
    found: dict[int, bool] = {}
    for test in tests:
        found[test.length] = found.get(test.length, True) and (test.sure or (test.apart and not surely))
    return sorted(length for length, above in found.items() if above)


def surely_above(tests: Iterable[Difference]) -> bool:
    """Whether the first of the two systems is significantly above the other at a length, in every layout."""
    return bool(lengths_above(tests, surely=True))


def between(first: SystemSummary, other: SystemSummary, tests: Sequence[Difference]) -> list[Difference]:
    """The tests of these two systems, with ``first`` first."""
    found = list[Difference]()
    for test in tests:  # A page has thousands.
        if test.one is first and test.other is other:
            found.append(test)
        elif test.one is other and test.other is first:
            found.append(test.turned)
    return found
