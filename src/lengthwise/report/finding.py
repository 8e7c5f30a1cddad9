"""The finding of results: how far systems are right beyond training, and in how many seeds, in a few lines."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from lengthwise.core.errors import listed
from lengthwise.core.rank import REACH
from lengthwise.core.table import NAMES, WIDTH, rounded
from lengthwise.report.summary import (
    LEAST_CHANCE,
    MOST_COMPARED,
    WIDE_RANGE,
    WRONG,
    SystemSummary,
    by_value,
    chance,
    fall,
    fit_share,
    hardest_of,
    in_order,
    in_quotes,
    layout_text,
    nearly_fits,
    of_equal_steps,
    percent,
    rate_of,
    same_training,
    some_of,
    steps_text,
    tests_of,
    trained_low,
)
from lengthwise.report.words import NOT_THERE, once, reaches_text

MOST_TASKS = 5
"""Tasks that a finding has a line for; of more it says how many they are."""
MOST_LINES, FEW, LINES_OF_FEW = 4, 5, 6
"""Lines of a terminal that the finding of a task has; and of so few systems, which all are named then."""
RIGHT_MEANS = f"≥ {percent(REACH)} right"
RIGHT_TO = f"{RIGHT_MEANS} in tests up to"
"""What is said of a length: between two that are tested nothing is known."""
NEXT_TEST = "at the next test"
"""Where a system is not right that is right at trained lengths: at those before it it may be right."""


def headline(systems: Sequence[SystemSummary], *, whole: bool = False) -> str:
    """The finding, a line for each task: how many systems are right how far, so that every test up to there is.

    ``whole``: with all names and numbers, also where there is no room for them.
    """
    contests = dict[str, list[SystemSummary]]()
    for one in in_order(of_equal_steps(systems)):
        contests.setdefault(one.contest, []).append(one)
    said = [_finding(some, whole) for some in contests.values()]
    if len(said) > MOST_TASKS and not whole:
        said[MOST_TASKS - 1 :] = [f"{len(said) - MOST_TASKS + 1} more tasks are in the table."]
    return "\n".join(said)


def told_lengths(rows: Iterable[str], names: Collection[str]) -> list[int]:
    """The lengths that these rows of an answer name, in their order, but for the numbers in the names of systems."""
    said = " ".join(rows)
    for name in sorted(names, key=len, reverse=True):
        said = said.replace(name, "")
    found = re.findall(r"(?<!rained )(?<!up )(?:up to|to|at(?: length)?) (\d+(?:[–, ]+(?:and )?\d+(?!\.\d))*)\b", said)
    return list(dict.fromkeys(int(length) for some in found for length in re.findall(r"\d+", some)))


def lines_of(text: str) -> int:
    """How many lines of a terminal a row of an answer has, without its commands."""
    return len(wrap(text.partition("\n")[0], WIDTH - NAMES, break_on_hyphens=False))


ROOM = ((3, 2, 2, True), (3, 2, 2, False), (3, 2, 0, True), (3, 1, 0, True), (3, 1, 0, False), (2, 1, 0, False),
        (2, 0, 0, False), (1, 0, 0, False), (0, 0, 0, False))  # fmt: skip
"""How many of the best, of those that go partway and of others have names; whether accuracies and fits are said."""


def _finding(order: Sequence[SystemSummary], whole: bool) -> str:
    """The finding of systems that are compared with each other, in order, with as much as there is room for, or all."""
    if not any(cell.length > one.max_length for one in order for cell in one.cells):
        return _no_finding(order)
    if whole:
        most = max(len(order), MOST_COMPARED)
        return in_quotes(_goes_far(order, most, most, most, True, error=True), order)
    every = (in_quotes(_goes_far(order, *room, error=error), order) for room in ROOM for error in (True, False))
    most = LINES_OF_FEW if len(order) <= FEW else MOST_LINES
    return next((text for text in every if lines_of(text) <= most), _goes_far(order, *ROOM[-1]))


def _goes_far(
    order: Sequence[SystemSummary], names: int, partway: int, others: int, rates: bool, *, error: bool = False
) -> str:
    """Who goes how far, with as many names and numbers as `ROOM` says; of few systems all are named.

    With ``error``, which of those that did not fit are within sampling error of it.
    """
    found, alike, few = in_groups(order), same_training(order), len(order) <= FEW and names >= MOST_COMPARED
    end = max(cell.length for one in order for cell in one.cells)
    best, some, others = found.best, found.some, FEW if few else others
    of, shown = f"{len(order)} systems", some[: len(some) if few else partway]
    first, *goes = [
        f"{_and_trained(one, alike)} up to {reaches_text(one.reaches, len(one.results))}" for one in shown
    ] or [""]
    if best:
        whose = some_of([_and_trained(one, alike) for one in best], most=names)
        whole = f"{_are(best)} {RIGHT_TO} {end}, the longest{_in_seeds(best)}"
        whole += f": {whose}" * (0 < names < len(best))
        said = [f"{whose if names >= len(best) else f'{len(best)} of {of}'} {whole}", first]
    elif first:
        alone = f"; {rounded(rate_of(hardest_of(some[0].cells)))} at {end}" * (len(order) == 1)
        said = [first.replace(" up to ", f" is {RIGHT_TO} ", 1) + alone]
    elif some:
        said = [f"{len(some)} of {of} {_are(some)} {RIGHT_MEANS} beyond training, none up to {end} in all seeds"]
    else:
        near, tested = found.near or found.low, [*found.near, *found.low]
        whose = f"{some_of([_with_fitted(one, alike, rates) for one in tested])} {_are(tested)} not"
        who = whose if few else f"none of {of} is"
        said = [f"{who} {RIGHT_MEANS} {NEXT_TEST}{_best_of(near, named=not few) * rates}"]
    more = (len(some) - len(shown)) * bool(best or shown)
    said += [*goes, f"{more} more go{'es' * (more == 1)} beyond training" * (more > 0)]
    rest = list[str]()
    for group, how in ((found.near, f"not right {NEXT_TEST}"), (found.low, NOT_THERE)) * bool(found.far):
        the = "the " * (group is found.near)
        count = f"{the}other" if the and len(group) == 1 else f"{the}{len(group)} other{'s' * (len(group) > 1)}"
        who = some_of([_with_fitted(one, alike, rates) for one in group]) if len(group) <= others else count
        rest += [f"{who} {_are(group)} {how}{_best_of(group) * bool(the and rates)}"] * bool(group)
    within = " (within sampling error)"
    lost = [_and_trained(one, alike) + within * (error and nearly_fits(one)) for one in order if not one.fitted]
    rest += [f"{some_of(lost) if len(lost) <= others else len(lost)} did not fit"] * bool(lost)
    begin = f"Trained to {order[0].max_length}, " * alike
    return once(f"{begin}{'; '.join(filter(None, [*said, *rest]))}.").replace("; the ", ". The ")


def _with_fitted(system: SystemSummary, alike: bool, counts: bool) -> str:
    """Its name, and with ``counts`` how many seeds fitted where some did not, since no other is counted then."""
    fitted, seeds = len(system.fitted), len(system.results)
    return _and_trained(system, alike) + f" ({fitted} of {seeds} seeds fitted)" * (counts and 0 < fitted < seeds)


def _are(systems: Sequence[SystemSummary]) -> str:
    return "is" if len(systems) == 1 else "are"


def _in_seeds(best: Sequence[SystemSummary]) -> str:
    """In how many seeds these are right, which is all."""
    counts = {len(one.results) for one in best}
    if counts == {1}:
        return " (one seed each)" if len(best) > 1 else " (one seed)"
    many = "both" if counts == {2} else f"all {counts.pop()}" if len(counts) == 1 else "all"
    return f", in {many} seeds"


def _best_of(systems: Sequence[SystemSummary], named: bool = False) -> str:
    """The highest accuracy of these at the first length beyond training, of several layouts the lowest; and chance."""
    beyond = [(cell.length, one, cell) for one in systems for cell in one.cells if cell.length > one.max_length]
    at = min((length for length, *_ in beyond), default=0)
    lowest = dict[int, tuple[float, SystemSummary, Any]]()
    for length, one, cell in beyond:
        if length == at and (id(one) not in lowest or rate_of(cell) < lowest[id(one)][0]):
            lowest[id(one)] = rate_of(cell), one, cell
    if not lowest:
        return ""
    rate, one, cell = max(lowest.values(), key=lambda each: each[0])
    guess, found = chance(one, at, cell.axes) or 0.0, cell.estimate()
    may_be = guess >= LEAST_CHANCE and found is not None and (found.low <= guess or rate < guess + WIDE_RANGE)
    whose = f"at best {one.label} with " * (named or (len(systems) > 1 and rate > 0))
    said = f"{whose}{rounded(rate)} at {at}{layout_text(cell, tests_of(one))}"
    said += f"; chance is {rounded(guess, 2)}" * may_be
    return f": {said}" if named else f" ({said})"


@dataclass(frozen=True)
class Groups:
    """Systems that are compared with each other and were tested, in order, by how far their seeds are right."""

    best: tuple[SystemSummary, ...]
    """All seeds up to the longest of all tests."""
    some: tuple[SystemSummary, ...]
    """Others of which a seed goes beyond training."""
    near: tuple[SystemSummary, ...]
    """Those of which none does, though they are right at trained lengths."""
    low: tuple[SystemSummary, ...]
    """Those whose median seed is wrong at a trained length already."""

    @property
    def far(self) -> tuple[SystemSummary, ...]:
        """Those that go beyond training, the farthest first."""
        return *self.best, *self.some


def in_groups(order: Iterable[SystemSummary]) -> Groups:
    """These systems, in order, by how far their seeds are right; those without a test are left out."""
    tested = [one for one in order if one.cells]
    best, some, near, low = (list[SystemSummary]() for _ in range(4))
    end = max((cell.length for one in tested for cell in one.cells), default=0)
    for one in tested:
        far = one.reaches
        whole = len(far) == len(one.results) and min(far) == end > one.max_length
        less = near if trained_low(one) is None else low
        (best if whole else some if max(far) > one.max_length else less).append(one)
    return Groups(tuple(best), tuple(some), tuple(near), tuple(low))


def leader(order: Sequence[SystemSummary]) -> SystemSummary:
    """Of systems in order, the one that a finding names first."""
    return next(iter(in_groups(order).far), order[0])


def failing(systems: Sequence[SystemSummary], metric: str = "exact_match") -> SystemSummary | None:
    """The one that a finding names first, where on no task that one is right beyond training; else None.

    It is not where less than half is right, or it may be chance, at its longest test. More seeds would only be sure of
    that. One that no other is compared with fails where it falls.
    """
    order = [one for one in in_order(systems, metric) if any(cell.length > one.max_length for cell in one.cells)]
    if len(order) == 1 and fall(order[0]):
        return order[0]
    contests = dict[str, list[SystemSummary]]()
    for one in order:
        contests.setdefault(one.contest, []).append(one)
    best = [leader(some) for some in contests.values()]
    for one in best:
        end = hardest_of(one.cells)
        found, guess = end.estimate(metric), chance(one, end.length, end.axes, metric) or 0.0
        if found is None or (found.median >= WRONG and found.low > guess):
            return None
    return best[0] if best else None


def _no_finding(systems: Sequence[SystemSummary]) -> str:
    """The sentence where none fitted and was tested at longer lengths."""
    best = max(systems, key=lambda one: one.in_distribution.median)
    who = best.label if len(systems) == 1 else f"none of {len(systems)} systems"
    said = f"Trained to {by_value(systems, lambda one: one.max_length)}, {who}"
    if any(one.fitted for one in systems):
        return f"{said} was tested at a longer length."
    steps = {text.partition(" of at most")[0] for text in map(steps_text, systems)} - {"unknown"}
    said += (" did not fit" if len(systems) == 1 else " fitted") + f" after {listed(sorted(steps))} steps" * bool(steps)
    it = "it is" if len(systems) == 1 else f"at best {best.label} is"
    near = f", within sampling error of {fit_share([best])}" * nearly_fits(best)
    return f"{said}: {it} right on {rounded(best.in_distribution.median)} of strings of trained lengths{near}."


def _and_trained(system: SystemSummary, alike: bool) -> str:
    return system.label + f" (trained to {system.max_length})" * (not alike)
