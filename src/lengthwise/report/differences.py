"""How sure a difference between systems is, and what theory says of its cause: exact tests, and one line of words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import comb
from statistics import fmean

from lengthwise.core.config import canonical_json
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.result_file import Axes
from lengthwise.core.statistics import LEVEL, holm, rank_test
from lengthwise.positions.schemes import SCHEMES
from lengthwise.prediction.predict import structure_row
from lengthwise.report.summary import SystemSummary, brackets_text, known_task
from lengthwise.tasks import TASKS

REMEMBERED = 4096
"""Tasks and schemes whose structure is remembered."""


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

    @property
    def apart(self) -> bool:
        """Whether every seed of the first system is above every seed of the other."""
        return min(self.rates) > max(self.other_rates)

    @property
    def turned(self) -> Difference:
        """The same test, with the other system first."""
        return replace(self, one=self.other, other=self.one, rates=self.other_rates, other_rates=self.rates)


def differences(
    systems: Sequence[SystemSummary], metric: str = "exact_match", against: SystemSummary | None = None
) -> list[Difference]:
    """All pairs of systems, or each with ``against``, at the lengths beyond training that both were tested at."""
    pairs = combinations(systems, 2) if against is None else ((against, one) for one in systems if one is not against)
    found = list[Difference]()
    for one, other in pairs:
        cells = {(cell.length, cell.axes): cell for cell in other.cells}
        for cell in sorted(one.cells, key=lambda cell: (cell.axes, cell.length)):
            rival = cells.get((cell.length, cell.axes))
            if rival is None or cell.length <= max(one.max_length, other.max_length):
                continue
            scores = [*cell.scores, *rival.scores]
            if all(metric in score.correct for score in scores):
                x, y = (tuple(score.rate(metric) for score in of.scores) for of in (cell, rival))
                p = rank_test(x, y)
                found.append(Difference(one, other, cell.length, cell.axes, x, y, p, p))
    corrected = holm([test.p for test in found])
    return [replace(test, holm=p) for test, p in zip(found, corrected, strict=True)]


def how_sure(systems: Sequence[SystemSummary], metric: str = "exact_match") -> str:
    """What `how_sure_and_next` says, in one line, and what bands and brackets are."""
    said, then = how_sure_and_next(systems, metric)
    parts = (said, f"band and brackets: {brackets_text(systems)}" if said else "", f"next: {then}" if then else "")
    return "; ".join(part for part in parts if part)


def how_sure_and_next(systems: Sequence[SystemSummary], metric: str = "exact_match") -> tuple[str, str]:
    """Whether the best system beyond training is above the second, by what test, why in theory; and what to do next.

    Both are empty where fewer than two systems were tested beyond training.
    """
    beyond = {
        index: fmean(found)
        for index, system in enumerate(systems)
        if (found := [e.median for c in system.cells if c.length > system.max_length and (e := c.estimate(metric))])
    }
    ranked = [systems[index] for index in sorted(beyond, key=lambda index: -beyond[index])]
    tests = differences(systems, metric) if len(ranked) > 1 else []
    facing = {id(other): found for other in ranked[1:] if (found := _between(ranked[0], other, tests))}
    rivals = [other for other in ranked[1:] if id(other) in facing]
    if not rivals:
        return "", ""
    first = ranked[0]
    second = next((other for other in rivals if any(test.apart for test in facing[id(other)])), None)
    alike = rivals if second is None else rivals[: rivals.index(second)]
    parts = []
    if alike:
        names = ", ".join(other.label for other in alike[:3]) + f" and {len(alike) - 3} more" * (len(alike) > 3)
        parts.append(
            f"{first.label} is not told apart from {names}: their seeds overlap at every length beyond training"
        )
    if second is not None:
        parts.append(_measured(first, second, facing[id(second)], len(tests)))
    nearest = second or rivals[0]
    parts += [f"what theory says of the cause: {cause} (not tested here)"] if (cause := _cause(first, nearest)) else []
    seeds = min(len(first.fitted), len(nearest.fitted))
    name = first.experiment["task"]["name"]
    if 2 / comb(2 * seeds, seeds) > 1 - LEVEL or second is None:
        return "; ".join(parts), f"more seeds, such as seeds={max(5, 2 * seeds)}"
    return "; ".join(parts), f"`lengthwise predict {name}`" if TASKS.is_built_in(name) else ""


def _between(first: SystemSummary, other: SystemSummary, tests: Sequence[Difference]) -> list[Difference]:
    """The tests of these two systems, with ``first`` first."""
    both = [test for test in tests if {id(test.one), id(test.other)} == {id(first), id(other)}]
    return [test if test.one is first else test.turned for test in both]


def _measured(first: SystemSummary, second: SystemSummary, tests: Sequence[Difference], made: int) -> str:
    """Where all seeds of the first system are above all of the second, and how likely that is by chance."""
    apart = [test for test in tests if test.apart]
    lengths = sorted({test.length for test in apart})
    where = f"{lengths[0]}" if len(lengths) == 1 else f"{lengths[0]}–{lengths[-1]}"
    whole = len(apart) == len(tests)
    some = "" if whole else f", {len(apart)} of {len(tests)} tests, and elsewhere they overlap"
    if len(apart[0].rates) == len(apart[0].other_rates) == 1:
        return f"{first.label} is above {second.label} at {where}{some}: one seed each, of which no test says anything"
    p, corrected = (_p([getattr(test, name) for test in apart]) for name in ("p", "holm"))
    sure = max(test.holm for test in apart) <= 1 - LEVEL
    above = f"{'beats' if sure else 'is above'} {second.label}{'' if sure else ', not significantly by Holm,'}"
    return (
        f"{first.label} {above} at {where}{some}: there all {len(apart[0].rates)} fitted seeds are above "
        f"all {len(apart[0].other_rates)} (exact rank test p {p}, Holm p {corrected} over "
        f"{made} test{'s' if made > 1 else ''})"
    )


def _p(values: Sequence[float]) -> str:
    """The largest of these values, and whether all are equal to it."""
    same = len(values) > 1 and min(values) == max(values)
    return f"{'=' if same or len(values) == 1 else '≤'} {max(values):.2g}{' each' * same}"


def _cause(first: SystemSummary, second: SystemSummary) -> str:
    """The farthest parent under the ids of both systems; empty for unknown tasks and equal ids."""
    if canonical_json(first.experiment["task"]) != canonical_json(second.experiment["task"]):
        return ""
    spans = {}
    for system in (first, second):
        task, scheme = known_task(system.experiment), system.experiment["scheme"]
        found = None if task is None else _span(canonical_json(system.experiment["task"]), canonical_json(scheme))
        if found is None:
            return ""
        spans[scheme["name"]] = found
    if len(set(spans.values())) < 2:
        return ""
    return "span " + ", ".join(f"{span} under {name} ids" for name, span in spans.items())


@lru_cache(maxsize=REMEMBERED)
def _span(task: str, scheme: str) -> str | None:
    """The ids to the farthest token needed, at the shortest and the longest length that is asked for."""
    try:
        row = structure_row(TASKS.build(json.loads(task)), SCHEMES.build(json.loads(scheme)).name)
    except LengthwiseError:
        return None
    low, high = row.span[0], row.span[-1]
    return f"{low}" if low == high else f"{low} to {high} (lengths {row.lengths[0]} to {row.lengths[-1]})"
