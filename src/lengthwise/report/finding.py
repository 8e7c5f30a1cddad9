"""The finding of results in a sentence: how far systems are right beyond training, and in how many seeds."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from lengthwise.core.config import canonical_json
from lengthwise.core.errors import listed
from lengthwise.core.rank import REACH, seed_far
from lengthwise.core.table import rounded
from lengthwise.report.summary import (
    LEAST_CHANCE,
    MOST_COMPARED,
    WIDE_RANGE,
    WRONG,
    Cell,
    SystemSummary,
    by_value,
    chance,
    fall,
    hardest_of,
    in_order,
    in_quotes,
    last_tests,
    layout_text,
    layouts_of,
    leads,
    median_rates,
    percent,
    rate_of,
    same_training,
    some_of,
    steps_text,
    tests_of,
    trained_low,
)
from lengthwise.report.words import NOT_FAR, NOT_THERE, reaches_text
from lengthwise.tasks.language import Language

MOST_TASKS = 5
"""Tasks that a finding has a line for; of more it says how many they are."""


def headline(systems: Sequence[SystemSummary], between: str = "; ") -> str:
    """The finding, a line for each task: how far systems go: each of a few, of more how many go how far.

    It says how far how many seeds go, so that every tested length up to there is right, and the lowest median. Where
    none goes beyond training, the accuracy is told at the shortest length beyond. `last_tests` ends it.
    """
    contests = dict[str, list[SystemSummary]]()
    for one in in_order(systems):
        contests.setdefault(one.contest, []).append(one)
    said = [
        between.join(in_quotes(part, some) for part in _finding(some, between).split(between))
        for some in contests.values()
    ]
    more = len(said) - MOST_TASKS + 1 if len(said) > MOST_TASKS else 0
    ends = last_tests(systems)
    lines = [
        *said[: MOST_TASKS - 1 if more else None],
        *[f"{more} more tasks are in the table."] * bool(more),
        *[f"{ends[:1].upper()}{ends[1:]}."] * bool(ends),
    ]
    return ("\n" if len(contests) > 1 else " ").join(lines)


def told_lengths(rows: Iterable[str], names: Collection[str]) -> list[int]:
    """The lengths that these rows of an answer name, in their order, but for the numbers in the names of systems."""
    said = re.sub(rf"{NOT_THERE} \([^,)]*", "", " ".join(rows))
    for name in sorted(names, key=len, reverse=True):
        said = said.replace(name, "")
    found = re.findall(
        r"(?<!lengths )(?<!trained )(?<!up )(?:up to|to|at(?: length)?) (\d+(?:[–, ]+(?:and )?\d+(?!\.\d))*)\b", said
    )
    return list(dict.fromkeys(int(length) for some in found for length in re.findall(r"\d+", some)))


def _finding(order: Sequence[SystemSummary], between: str) -> str:
    """The sentence of `headline` for systems that are compared with each other, in order."""
    if not (tested := [one for one in order if one.cells]):
        return _no_finding(order)
    found, share = in_groups(tested), f"{percent(REACH)} of {strings_of(tested)}"
    best, many, alike = tested[0], len(tested) > MOST_COMPARED, same_training(order)
    whose = _and_trained(best, alike)
    of = f"{len(tested)} systems{' that fitted' * (len(tested) < len(order))}"
    if found.far:
        every = f"right on at least {share} of every tested length"
        said = _groups(found, every, of, alike) if many else _each(tested, every, alike)
    elif all(cell.length <= one.max_length for one in tested for cell in one.cells):
        return _no_finding(order)
    else:
        none = f"none of {of}" if many else "no system" * (len(tested) > 1) or f"{whose} not"
        if any(rate_of(cell) >= REACH for one in tested for cell in one.cells if cell.length > one.max_length):
            first = f"{none} stays right" if len(tested) > 1 else f"{whose} does not stay right"
            said = [f"{first} on {share} at {'trained or ' * all(map(trained_low, tested))}longer lengths"]
            goes = ((one, _goes(one).partition(" (")[2].removesuffix(")") or NOT_FAR) for one in tested)
            said += [f"{_and_trained(one, alike)} has {says}" for one, says in goes]
        else:
            first, at = f"{none} is right" if len(tested) > 1 else f"{whose} is not right", _first_beyond([best])
            said = [f"{first} on {share} of any longer tested length"]
            said += [f"{whose if len(tested) > 1 else 'it'} has {_at(best, at, at)}"]
            said += [f"{_and_trained(one, alike)} {_at(one, at)}" for one in tested[1:]]
        if many:
            said = [*said[:2], f"the {len(tested) - 1} others have {_most(tested[1:])}"]
    lost = [_and_trained(one, alike) for one in order if not one.fitted]
    some = some_of(lost) if len(lost) < MOST_COMPARED else f"{len(lost)} systems"
    said += [f"{some} did not fit"] * bool(lost)
    return f"Trained on lengths up to {best.max_length}, " * alike + f"{between.join(said)}."


def strings_of(systems: Iterable[SystemSummary]) -> str:
    """What the tests of systems draw."""
    drawn = list(systems)
    if any(seed.hard for one in drawn for seed in one.fitted):
        return "random and hard words"
    return "random words" if isinstance(drawn[0].known_task, Language) else "random strings"


@dataclass(frozen=True)
class Groups:
    """Systems that are compared with each other and were tested, in order, by how far their seeds are right."""

    best: tuple[SystemSummary, ...]
    """All seeds up to the longest of all tests."""
    some: tuple[SystemSummary, ...]
    """Others of which a seed goes beyond training."""
    near: tuple[SystemSummary, ...]
    """Those of which none does."""

    @property
    def far(self) -> tuple[SystemSummary, ...]:
        """Those that go beyond training, the farthest first."""
        return *self.best, *self.some


def in_groups(order: Iterable[SystemSummary]) -> Groups:
    """These systems, in order, by how far their seeds are right; those without a test are left out."""
    tested = [one for one in order if one.cells]
    best, some, near = (list[SystemSummary]() for _ in range(3))
    end = max((cell.length for one in tested for cell in one.cells), default=0)
    for one in tested:
        far = _far(one)
        whole = len(far) == len(one.results) and min(far) == end > one.max_length
        (best if whole else some if max(far) > one.max_length else near).append(one)
    return Groups(tuple(best), tuple(some), tuple(near))


def leader(order: Sequence[SystemSummary]) -> SystemSummary:
    """Of systems in order, the one that a finding names first."""
    return next(iter(in_groups(order).far), order[0]) if len(order) > MOST_COMPARED else order[0]


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


def is_setting_of(one: SystemSummary, other: SystemSummary) -> bool:
    """Whether one is another with other settings, and neither is above the other in every seed."""
    same = [(of.name, of.contest, of.max_length, canonical_json(of.experiment["task"])) for of in (one, other)]
    return same[0] == same[1] and not (leads(one, other) or leads(other, one))


def _each(systems: Sequence[SystemSummary], every: str, alike: bool, of: str = "") -> list[str]:
    """How far each of these goes; of one with several settings that go beyond training together."""
    families, near = list[list[SystemSummary]](), in_groups(systems).near
    for one in systems:
        same = (some for some in families if one not in near and some[0] not in near and is_setting_of(one, some[0]))
        if (found := next(same, None)) is not None:
            found.append(one)
        else:
            families.append([one])
    return [
        f"{_and_trained(some[0] if len(some) == 1 else replace(some[0], settings=''), alike)}"
        f"{f', of {of},' * bool(of)}{f' is {every}' * (not at and bool(every))} {_together(some)}"
        for at, some in enumerate(families)
    ]


def _together(systems: Sequence[SystemSummary]) -> str:
    """How far these go, each with its settings where there are several: what they share stands first."""
    goes = [_goes(one) for one in systems]
    if len(systems) == 1:
        return goes[0]
    goes = [re.sub(r" \(one seed(; )?", r" in one seed (", text) for text in goes]
    parts = [re.fullmatch(r"(up to \d+(?:, the longest)?),? (.*?)(?: \((.*)\))?", text) for text in goes]
    found = [part.groups() for part in parts if part is not None]
    same = len({start for start, *_ in found}) == 1
    said = (
        f"{'' if same else f'{start} '}{how} ({'; '.join(filter(None, (one.settings, aside)))})"
        for one, (start, how, aside) in zip(systems, found, strict=True)
    )
    return f"{found[0][0]}: " * same + ", ".join(said)


def _groups(found: Groups, every: str, of: str, alike: bool) -> list[str]:
    """How many systems go how far, and which: the names of those that go all the way, of others how far seeds go."""
    said, some = list[str](), found.some
    if best := found.best:
        names, end = some_of([_and_trained(one, alike) for one in best]), max(cell.length for cell in best[0].cells)
        whole = f"{every} up to {end}, the longest, in all seeds"
        same = [one for one in some if is_setting_of(one, best[0])]
        if len(best) > 1:
            said.append(f"{len(best)} of {of} are {whole}: {names}")
        elif same:
            said += _each([*best, *same], every, alike, of)
            some = [one for one in some if one not in same]
        else:
            said.append(f"{names} alone, of {of}, is {whole}")
    named = MOST_COMPARED - bool(best)
    said += _each(some[:named], every * (not said), alike)
    if more := len(some[named:]):
        said.append(f"{more} other{'s go' if more > 1 else ' goes'} beyond training, not as far or not in all seeds")
    if near := found.near:
        low = sum(map(bool, map(trained_low, near)))
        who = f"the {len(near)} others {NOT_FAR}" + f", {low} of them {NOT_THERE}" * bool(low)
        said += [f"{who} ({_most(near)})"] if len(near) > 1 else _each(near, "", alike)
    return said


def _most(systems: Sequence[SystemSummary]) -> str:
    """The highest accuracy of these at the first length beyond training, and at the last where it is another."""
    highest = dict[int, float]()
    for one in systems:
        for length, rate in median_rates(one).items():
            if length > one.max_length:
                highest[length] = max(highest.get(length, 0.0), rate)
    ends = sorted({min(highest, default=0), max(highest, default=0)} & {*highest})
    layouts = any(len(tests_of(one)) > len({cell.length for cell in one.cells}) for one in systems)
    most = f"at best{' in their hardest layout' * layouts} " * any(highest.values())
    return most + ", ".join(f"{rounded(highest[at])} at {at}" for at in ends if at == ends[0] or highest[ends[0]])


def _first_beyond(systems: Iterable[SystemSummary]) -> int:
    lengths = {(cell.length > one.max_length, cell.length) for one in systems for cell in one.cells}
    return min((n for beyond, n in lengths if beyond), default=max(n for _, n in lengths))


def _far(system: SystemSummary) -> list[int]:
    return [seed_far(one, 0, layouts=layouts_of(system))[0] for one in system.fitted]


def _no_finding(systems: Sequence[SystemSummary]) -> str:
    """The sentence where none fitted and was tested at longer lengths."""
    best = max(systems, key=lambda one: one.in_distribution.median)
    who = best.label if len(systems) == 1 else f"none of {len(systems)} systems"
    said = f"Trained on lengths up to {by_value(systems, lambda one: one.max_length)}, {who}"
    if any(one.fitted for one in systems):
        return f"{said} was tested at a longer length."
    steps = {text.partition(" of at most")[0] for text in map(steps_text, systems)} - {"unknown"}
    said += (" did not fit" if len(systems) == 1 else " fitted") + f" after {listed(sorted(steps))} steps" * bool(steps)
    it = "it" if len(systems) == 1 else best.label
    return f"{said}: {it} is right on {rounded(best.in_distribution.median)} of strings of trained lengths."


def _goes(system: SystemSummary) -> str:
    """How far the seeds of a system go; in brackets the lowest median, and that of the longest test if it is higher.

    Of one that does not go beyond training it is the first there.
    """
    tests, fitted, seeds, far = tests_of(system), len(system.fitted), len(system.results), _far(system)
    end = hardest_of(tests.values())
    low = [cell for cell in tests.values() if rate_of(cell) < REACH]
    shown, trained = sorted(low, key=lambda cell: (rate_of(cell), cell.length))[:1], trained_low(system)
    if max(far) <= system.max_length:  # where it falls
        beyond = sorted(low, key=lambda cell: (cell.length, rate_of(cell)))
        beyond = [cell for cell in beyond if cell.length > system.max_length][:1]
        shown = [*filter(None, [trained]), *beyond]
    shown += [end for low in shown[-1:] if rate_of(end) >= rate_of(low) + WIDE_RANGE]
    median_of = "median " * (len({*far}) > 1)  # which is not that of the seeds that stand before it
    low_at = ", ".join(f"{rounded(rate_of(cell))} at {cell.length}{layout_text(cell, tests)}" for cell in shown)
    aside = [f"{median_of}{low_at}"] * bool(shown)
    if max(far) > system.max_length:
        said = f"up to {reaches_text(far, seeds, ', the longest' * (max(far) == end.length))}"
    else:
        said = NOT_FAR if trained is None else NOT_THERE
        aside = [*[f"{fitted} of {seeds} seeds fitted"] * (fitted < seeds), *aside]
    if said.endswith(")"):
        return "; ".join([said.removesuffix(")"), *aside]) + ")"
    return said + f" ({'; '.join(aside)})" * bool(aside)


def _at(system: SystemSummary, length: int, first: int = 0) -> str:
    """The accuracy of a system where the first of a finding is told, or else at its longest test; then its lowest."""
    tests, fitted, seeds = tests_of(system), len(system.fitted), len(system.results)
    cell = hardest_of(cell for cell in tests.values() if cell.length == length) or hardest_of(tests.values())
    where = f"at{' length' * (cell.length == first)} {cell.length}{layout_text(cell, tests)}"
    aside = [*[f"{fitted} of {seeds} seeds fitted"] * (fitted < seeds), _aside(system, cell)]
    low = min(tests.values(), key=lambda one: (rate_of(one), one.length))
    lower = f", {rounded(rate_of(low))} at {low.length}{layout_text(low, tests)}" * (
        rate_of(low) <= rate_of(cell) - WIDE_RANGE
    )
    return f"{rounded(rate_of(cell))} {where}" + f" ({'; '.join(filter(None, aside))})" * any(aside) + lower


def _aside(system: SystemSummary, cell: Cell) -> str:
    """Chance where the accuracy may be no more; between which rates the fitted seeds lie where that is far apart.

    Or where one of them fails and the median does not.
    """
    rates, found = [score.rate() for score in cell.scores], cell.estimate()
    low, high = min(rates), max(rates)
    guess = chance(system, cell.length, cell.axes) or 0.0
    may_be = guess >= LEAST_CHANCE and found is not None and (found.low <= guess or found.median < guess + WIDE_RANGE)
    far = high - low >= WIDE_RANGE or low < REACH <= median(rates)
    return "; ".join([*[f"chance is {rounded(guess, 2)}"] * may_be, *[f"range {rounded(low)}–{rounded(high)}"] * far])


def _and_trained(system: SystemSummary, alike: bool) -> str:
    return system.label + f" (trained to {system.max_length})" * (not alike)
