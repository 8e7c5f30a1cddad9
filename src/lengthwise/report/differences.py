"""How sure a difference between systems is, and what theory says of its cause: exact tests, and one line of words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, count
from math import ceil, comb

from lengthwise.core.result_file import Axes
from lengthwise.core.statistics import LEVEL, holm, rank_test
from lengthwise.report.control import controls_say, missing_control, with_controls
from lengthwise.report.next_steps import next_steps
from lengthwise.report.summary import (
    MOST_NAMED,
    Brackets,
    Setting,
    SystemSummary,
    besides_positions,
    brackets_text,
    called,
    differ_text,
    differing_settings,
    failing,
    group_of,
    ids_alone,
    in_groups,
    in_runs,
    nearest_rival,
    other_settings,
    ranked,
    some_of,
    trained_alike,
)
from lengthwise.report.why import AGREES, IDS, NO_CAUSE, same_task, span, why
from lengthwise.report.words import setting_text, weight

IDS_ALONE = "these two differ in the ids alone"
"""The end of a clause about such a pair."""
SURE, AMONG, CAUSE_IS = "how sure: beyond training, ", "among those beyond training: ", "cause: "
"""The beginnings of notes: against those that go less far, among those that go far, and whether the cause is known."""
HIDDEN = "p is corrected for tests with systems not shown, too, as results may have decided which are"
"""The clause for the author where not all systems are shown."""


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
    def turned(self) -> Difference:
        """The same test, with the other system first."""
        return replace(self, one=self.other, other=self.one, rates=self.other_rates, other_rates=self.rates)


def differences(
    systems: Sequence[SystemSummary],
    metric: str = "exact_match",
    against: SystemSummary | None = None,
    whole: Sequence[SystemSummary] = (),
) -> list[Difference]:
    """All pairs of systems, or each with ``against``, at the lengths beyond training that both were tested at.

    Systems of different tasks are no pairs. p is corrected for all tests of a task; where the systems were chosen from
    ``whole``, for all tests of these, since the choice may have followed the results.
    """
    # A system under another label has the same runs.
    chosen, found = {id(system.results[0]): system for system in systems}, list[Difference]()
    every = [chosen.get(id(system.results[0]), system) for system in whole or systems]
    for one, other in combinations(every, 2) if against is None else ((against, one) for one in every):
        if one is other or one.contest != other.contest:
            continue
        cells = {(cell.length, cell.axes): cell for cell in other.every_cell}
        for cell in sorted(one.every_cell, key=lambda cell: (cell.axes, cell.length)):
            rival = cells.get((cell.length, cell.axes))
            if rival is None or cell.length <= max(one.max_length, other.max_length):
                continue
            scores = [*cell.scores, *rival.scores]
            if all(metric in score.correct for score in scores):
                x, y = (tuple(score.rate(metric) for score in of.scores) for of in (cell, rival))
                p = rank_test(x, y)
                found.append(Difference(one, other, cell.length, cell.axes, x, y, p, p, 0))
    corrected = list[Difference]()
    for contest in dict.fromkeys(test.one.contest for test in found):
        mine = [test for test in found if test.one.contest == contest]
        ps = holm([test.p for test in mine])
        hidden = any(id(of.results[0]) not in chosen for test in mine for of in (test.one, test.other))
        corrected += [replace(test, holm=p, made=len(mine), hidden=hidden) for test, p in zip(mine, ps, strict=True)]
    mine = [test for test in corrected if {id(of.results[0]) for of in (test.one, test.other)} <= chosen.keys()]
    return [
        test for test in mine if all(test.axes in {cell.axes for cell in of.cells} for of in (test.one, test.other))
    ]


@dataclass(frozen=True)
class Comparison:
    """How sure it is that the best system is above others, what the cause is, and what to do next; empty if unknown."""

    notes: tuple[str, ...] = ()
    """For readers: how sure the large difference is, what holds among the best, and whether the cause is known."""
    more: tuple[str, ...] = ()
    """For the author: other pairs that differ in the ids alone."""
    order: Sequence[SystemSummary] = ()
    cause: str = ""
    shown: Collection[str] = ()
    """What `lengthwise.report.why.why` asks for: the systems, and what a control and which controls show."""
    steps: tuple[str, ...] = ()
    """As `next_steps`."""

    @cached_property
    def why(self) -> str:
        """Why systems fall, as `lengthwise.report.why.why`."""
        return why(self.order, self.cause, self.shown) if self.order else ""

    @property
    def advice(self) -> tuple[str, ...]:
        """The next step, why systems fall, and what to do then."""
        return *self.steps[:1], *[self.why] * bool(self.why), *self.steps[1:]


def how_sure(
    systems: Sequence[SystemSummary], metric: str = "exact_match", brackets: Brackets = "interval"
) -> list[str]:
    """The parts of `compared`, with what bands and brackets are before what to do next, without its commands.

    A page that others read has no paths of a machine.
    """
    found, seeds = compared(systems, metric), (len(system.fitted) for system in systems)
    said = [*[found.why] * bool(found.why), *found.notes, *found.more]
    shown = [f"band and brackets: {brackets_text(seeds, brackets)}"] * bool(found.notes or found.more)
    return [*said, *shown, *(step.partition("\n")[0] for step in found.steps[:1])]


def compared(
    systems: Sequence[SystemSummary], metric: str = "exact_match", whole: Sequence[SystemSummary] = ()
) -> Comparison:
    """Whether the best system is above the others beyond training, by what test, and whether the ids are the cause.

    p is corrected for the tests at all lengths and of all systems of ``whole``, since the choice may have followed the
    results. Of several tasks the only step is to choose one, and what is sure of each is for the author.
    """
    contests = dict.fromkeys(system.contest for system in systems)
    if len(contests) > 1:
        each = (compared([one for one in systems if one.contest == of], metric, whole) for of in contests)
        more = dict.fromkeys(line for found in each for line in (*found.notes, *found.more))
        steps = (f"next: choose one task, such as `.only({name!r})`" for name in _names_of_one(systems)[:1])
        return Comparison(more=tuple(more), steps=tuple(steps))
    whole = [one for one in whole or systems if one.contest in contests]
    tests, order = differences(systems, metric, whole=whole), ranked(systems, metric)
    shown = {id(system.results[0]): system for system in systems}  # under their labels
    there = [shown.get(id(one.results[0]), one) for one in whole]
    found = _of_contest(order, tests, there, failing(order, metric))
    if not found.notes and len(systems) > 1 and sum(bool(one.fitted) for one in systems) == 1:
        found = replace(found, notes=(f"{SURE}no other system fitted, so this shows nothing about positions",))
    return replace(found, more=(*found.more, *[HIDDEN] * any(test.hidden for test in tests)))


def _names_of_one(systems: Iterable[SystemSummary]) -> list[str]:
    """By which names one of the tasks can be chosen."""
    found = dict[str, set[str]]()
    for one in systems:
        for name in {group_of(one), called(one.experiment["task"])} - {""}:
            found.setdefault(name, set()).add(one.contest)
    return [name for name, contests in found.items() if len(contests) == 1]


def _of_contest(
    order: Sequence[SystemSummary],
    tests: Sequence[Difference],
    there: Sequence[SystemSummary],
    fails: SystemSummary | None,
) -> Comparison:
    """`compared` for systems of one task; ``there`` has systems that are not shown, too."""
    met = {id(system) for test in tests for system in (test.one, test.other)}
    ranked = [system for system in order if id(system) in met]
    facing = {id(other): found for other in ranked[1:] if (found := _between(ranked[0], other, tests))}
    rivals = trained_alike(ranked[0], [other for other in ranked[1:] if id(other) in facing]) if ranked else []
    if not rivals:
        steps = next_steps(order, fails, "", (0, "", "", []), ([], [])) if order else ()
        return Comparison(order=order, steps=tuple(steps))
    first, groups, notes, more = ranked[0], in_groups(ranked), list[str](), list[str]()
    field = [one for one in rivals if one in groups.near] or [one for one in rivals if one not in groups.best] or rivals
    near = " that do not go beyond training" * (field[0] in groups.near)
    notes.append(SURE + _stands(first, field, facing, near))
    if among := [one for one in rivals if one not in field]:
        notes.append(AMONG + _stands(first, among, facing, brief=True))
    alike = [first, *(one for one in groups.best if one is not first)]
    lead, controls = with_controls(alike, ranked, lambda one, other: lengths_apart(_between(one, other, tests)))
    how = {IDS: list[SystemSummary](), AGREES: list[SystemSummary](), NO_CAUSE: list[SystemSummary]()}
    for other in controls:
        found = _between(lead, other, tests)
        how[IDS if _surely_above(found) else AGREES if lengths_apart(found) else NO_CAUSE].append(other)
    pairs = [(one, other) for one in alike for other in field if lengths_apart(_between(one, other, tests))]
    pair = (first, nearest_rival(first, field) or field[0])
    if pairs:
        pair = (lead, controls[0]) if how[IDS] or how[AGREES] else min(pairs, key=lambda two: _unlike(*two))
    says = controls_say(lead, how, lambda other, whom: _measured(lead, f"{whom},", _between(lead, other, tests)))
    says += [f"of {first.label} it is not tested"] * bool(says and lead is not first)
    control, shown = "", [one.label for one in how[IDS]]
    if not says and (near := [two for two in (pair, *pairs) if pairs and _ids_may_count(*two, tests)]):
        says, control = missing_control(*near[0], rivals, there)
    for one, other in combinations(ranked, 2):
        if ids_alone(one, other) and not (one is lead and other in controls):
            found, level = _between(one, other, tests), f"{one.label} is not told apart from {other.label}"
            more.append(f"{_measured(one, other.label, found) if lengths_apart(found) else level}; {IDS_ALONE}")
    besides = (_confounded(*pair) if pairs else "") or differ_text(order)
    if says or besides:
        notes.append(CAUSE_IS * bool(pairs) + _sentences(["; ".join(says), besides]))
    weighed = [pair, *((lead, one) for one in how[AGREES] if (lead, one) != pair)] if pairs else []
    unsure = [two for two in weighed if not _surely_above(_between(*two, tests))]
    if own := [two for two in pairs if two[0] is first and not unsure]:
        nearest = min(own, key=lambda two: _unlike(*two))
        unsure = [] if _surely_above(_between(*nearest, tests)) else [nearest]
    who = [one for one in order if any(one in two for two in unsure)]
    seeds, made = min(len(one.fitted) for one in who or pair), _between(*pair, tests)[0].made
    enough = _enough(made)
    few = f"of equal numbers, {enough} that fit are the least to be significant{f' in {made} tests' * (made > 1)}"
    alone = _enough(len(_between(*pair, tests)))
    alone = ceil(alone * max((len(one.results) / len(one.fitted) for one in who), default=1))  # some may not fit
    two = alone < enough and len(who) == 2
    less = f"; or {alone} new ones of the two alone, in a folder of their own" * two
    needed = (enough * bool(who) * (seeds < enough), few, less, who)
    if not pairs:
        level = f"with {seeds}, {pair[0].label} and {pair[1].label} are not told apart"
        needed = (max(enough, 2 * seeds), level, "", list(pair))
    confounds = (list(pair), [*_confounds(*pair)])
    cause = next((one for one in (IDS, AGREES, NO_CAUSE) if how[one]), "")
    steps = next_steps(order, fails, control, needed, confounds)
    return Comparison(tuple(notes), tuple(more), order, cause, shown, tuple(steps))


def _enough(tests: int) -> int:
    """The least number of seeds of each system with which one of so many tests can be significant."""
    return next(n for n in count(2) if 2 * tests / comb(2 * n, n) <= 1 - LEVEL)


def _unlike(one: SystemSummary, other: SystemSummary) -> tuple[bool, bool, int]:
    """How unlike two systems are: another task, the same positions, the number of settings; the least tells most."""
    return not same_task(one, other), one.positions == other.positions, len(_confounds(one, other))


def _ids_may_count(first: SystemSummary, rival: SystemSummary, tests: Sequence[Difference]) -> bool:
    """Whether the ids of the first bring what is needed nearer than those of its rival, or that is unknown."""
    found = _between(first, rival, tests)
    lengths = (min(first.max_length, rival.max_length), max(test.length for test in found))
    if not same_task(first, rival):
        return False
    ours, theirs = span(first, lengths), span(rival, lengths)
    return ours is None or theirs is None or ours.span[-1] < theirs.span[-1]


def _stands(
    first: SystemSummary,
    others: Sequence[SystemSummary],
    facing: Mapping[int, Sequence[Difference]],
    that: str = "",
    *,
    brief: bool = False,
) -> str:
    """Above which of the others all seeds of the first are, and from which it is not told apart.

    ``that`` says what the others have in common.
    """
    above = [other for other in others if lengths_apart(facing[id(other)])]
    alike, said = [other for other in others if other not in above], list[str]()
    if above:
        whom = f"{len(above)} of {len(others)}{that or ' others'}" if alike else f"all {len(above)}{that or ' others'}"
        names = _some(above) if len(above) < MOST_NAMED else whom
        says = _measured(first, names, [test for other in above for test in facing[id(other)]])
        said.append(re.sub("(?<=not significantly): .*? tests? .*?\\)", "", says) if brief else says)
    if alike:
        overlap = not any(test.turned.apart for other in alike for test in facing[id(other)])
        who = "it" if above else first.label
        said.append(
            f"{who} is not told apart from {_some(alike)}: seeds overlap at every length beyond training"
            if overlap
            else f"{who} is not above {_some(alike)}: at no length beyond training are all its seeds above theirs"
        )
    return "; ".join(said)


def _some(systems: Sequence[SystemSummary]) -> str:
    return some_of([system.label for system in systems])


def _sentences(clauses: Iterable[str]) -> str:
    """These as sentences, without the last full stop; the first keeps its first letter, which may be of a name."""
    first, *more = filter(None, clauses)
    return ". ".join([first, *(f"{one[:1].upper()}{one[1:]}" for one in more)])


def lengths_apart(tests: Iterable[Difference]) -> list[int]:
    """The lengths at which all seeds of the first system are above all of the other, in every layout."""
    found: dict[int, bool] = {}
    for test in tests:
        found[test.length] = found.get(test.length, True) and test.apart
    return sorted(length for length, apart in found.items() if apart)


def _surely_above(tests: Iterable[Difference]) -> bool:
    """Whether the first of the two systems is significantly above the other at a length."""
    return any(test.apart and test.holm <= 1 - LEVEL for test in tests)


def _between(first: SystemSummary, other: SystemSummary, tests: Sequence[Difference]) -> list[Difference]:
    """The tests of these two systems, with ``first`` first."""
    found = list[Difference]()
    for test in tests:  # A page has thousands.
        if test.one is first and test.other is other:
            found.append(test)
        elif test.one is other and test.other is first:
            found.append(test.turned)
    return found


def _measured(first: SystemSummary, names: str, tests: Sequence[Difference]) -> str:
    """Where all seeds of the first system are above all of those with these names, and how likely that is by chance."""
    lengths, tested = lengths_apart(tests), {test.length for test in tests}
    sure = [n for n in lengths if all(test.holm <= 1 - LEVEL for test in tests if test.length == n)]
    rest, below = [length for length in lengths if length not in sure], lengths_apart(test.turned for test in tests)
    many, said = len({id(test.other) for test in tests}) > 1, list[str]()
    if all((len(test.rates), len(test.other_rates)) == (1, 1) for test in tests):
        said.append(f"has more right than {names} at {in_runs(lengths, tested)}, of one seed each, which may be luck")
    elif not lengths:
        said.append(f"is above each of {names} in every seed at some length")
    else:
        p, made = _p([test.holm for test in tests if test.length in sure]), tests[0].made
        said += [
            f"beats {names} at {in_runs(sure, tested)} (exact rank test, Holm p {p}, {made} test{'s' * (made > 1)})"
        ] * bool(sure)
        who = ("them" if many else "it") if sure else names
        fit = "fitted " * any(len(one.fitted) < len(one.results) for test in tests for one in (test.one, test.other))
        why = _too_few([test for test in tests if test.length in rest])
        said += [f"is above {who} in every {fit}seed at {in_runs(rest, tested)}, not significantly: {why}"] * bool(rest)
    said += [f"is below {'them' if many else 'it'} at {in_runs(below, tested)}"] * bool(below)
    return f"{first.label} {', and '.join(said)}"


def _too_few(tests: Sequence[Difference]) -> str:
    """Why tests are not significant though all seeds of one are above all of the other: these are too few."""
    seeds = {(len(test.rates), len(test.other_rates)) for test in tests}
    n, m = min(seeds, key=sum, default=(1, 1))
    few, made = f"{n} seeds each" if n == m else f"{n} and {m} seeds", max((test.made for test in tests), default=1)
    more = ", with systems not shown" * any(test.hidden for test in tests)
    return f"{few} are too few for {made} tests (Holm{more})" if made > 1 else f"{few} are too few (exact rank test)"


def _p(values: Sequence[float]) -> str:
    """The largest of these values, and whether all are equal to it."""
    return f"{'=' if len({*values}) == 1 else '≤'} {max(values, default=1):.2g}"


def _confounds(first: SystemSummary, second: SystemSummary) -> dict[Setting, str]:
    """What may be the cause besides positions: `other_settings`, after training length and task."""
    pair, found, other = (first, second), dict[Setting, str](), dict[Setting, str]()
    if first.max_length != second.max_length:
        found["training", "", "max_length"] = "training length"
    if (task := called(first.experiment["task"])) != called(second.experiment["task"]):
        found["task", "", "task"] = "task"
    else:
        keys = [row["key"].partition(".") for row in differing_settings(pair)]
        other = {("task", task, name): setting_text(f"task.{name}") for part, _, name in keys if part == "task"}
    other |= other_settings(pair)
    return found | dict(sorted(other.items(), key=lambda each: (each[0][0] != "task", weight(each[1]))))


def _confounded(first: SystemSummary, second: SystemSummary) -> str:
    """The clause of `_confounds`, which does not begin with a name, as a sentence may begin with it."""
    same, settings = first.positions == second.positions, [*_confounds(first, second).values()]
    who = "the systems " * same + f"{first.label} and {second.label}"
    if same and len(settings) == 1:
        return f"{who} differ in nothing but {settings[0]}"
    return besides_positions((first, second), settings, who) + ", which may be the cause" * bool(settings)
