"""What results answer: how sure the finding is, why it is so, and what to do next."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from math import ceil, comb

from lengthwise.core.statistics import LEVEL
from lengthwise.core.table import NEXT, answered
from lengthwise.report.control import (
    PLAIN,
    Control,
    beyond_reach,
    controls_say,
    is_control,
    longer_control,
    missing_control,
    with_controls,
)
from lengthwise.report.differences import Difference, between, differences, lengths_above, surely_above
from lengthwise.report.finding import failing, in_groups, is_setting_of, leader
from lengthwise.report.next_steps import MoreSeeds, next_steps
from lengthwise.report.summary import (
    MOST_COMPARED,
    MOST_NAMED,
    Setting,
    SystemSummary,
    called,
    differing_settings,
    group_of,
    in_quotes,
    in_runs,
    nearest_rival,
    other_settings,
    ranked,
    some_of,
    trained_alike,
)
from lengthwise.report.why import named, needed_back, one_setting, same_task, why
from lengthwise.report.words import setting_text, weight
from lengthwise.tasks.values import spoken

SURE, WHY = "how sure", "why"
"""What rows of an answer are called, behind the finding."""
MOST_LINES = 8
"""Lines of *why* in a terminal."""
ALONE = "No other system fits, so this shows nothing about positions."


@dataclass(frozen=True)
class Answer:
    """How sure it is that the best system is above others, why, and what to do next; empty where unknown."""

    sure: str = ""
    """By what test the best is above which others, and where."""
    cause: tuple[str, ...] = ()
    """What controls show of the ids, or that there is none, and what else differs."""
    order: Sequence[SystemSummary] = ()
    """Systems that are compared with each other."""
    steps: tuple[str, ...] = ()
    """As `next_steps`."""
    controls: Sequence[SystemSummary] = ()
    """Those whose fall `cause` explains."""
    without: Sequence[SystemSummary] = ()
    """Those of which theory has no program."""
    limit: str = ""
    """What controls do not show."""

    @cached_property
    def why(self) -> str:
        """Why the best leads, then why others fall, a line for each reason; what has no room is in `falls`."""
        return "\n".join(f"{says}." for at, (says, _) in enumerate(self._lines) if at in self._shown)

    @property
    def falls(self) -> list[str]:
        """For the author: what `why` has no room for, and all names of reasons that it shortens."""
        return [whole for at, (says, whole) in enumerate(self._lines) if at not in self._shown or says != whole]

    @cached_property
    def _lines(self) -> list[tuple[str, str]]:
        """Causes and reasons, as `why` has them and with all names."""
        reasons = why(self.order, self.controls, self.without)
        every = [(says, says) for says in self.cause]
        every += [(f"{named(some)}: {says}", f"{named(some, len(some))}: {says}") for some, says in reasons]
        every += [(self.limit, self.limit)] * bool(self.limit)
        return [(in_quotes(says, self.order), in_quotes(whole, self.order)) for says, whole in every]

    @cached_property
    def _shown(self) -> set[int]:
        """For which of these there is room: first for two causes and a reason."""
        room, found = MOST_LINES, set[int]()
        for at in sorted(range(len(self._lines)), key=lambda at: (at not in (0, 1, len(self.cause)), at)):
            lines = answered({WHY: f"{self._lines[at][0]}."})[0].count("\n") + 1
            if lines <= room:
                found, room = found | {at}, room - lines
        return found

    @property
    def rows(self) -> dict[str, str]:
        """Rows below the finding by their names, those that are known."""
        return {name: says for name, says in ((SURE, self.sure), (WHY, self.why)) if says}

    @property
    def on_page(self) -> dict[str, str]:
        """Rows of a page that others read, which has no commands, since these have paths of a machine."""
        step = [one.removeprefix(f"{NEXT}: ").partition("\n")[0] for one in self.steps[:1]]
        return self.rows | dict.fromkeys([NEXT] * bool(step), "".join(step))


def answer(
    systems: Sequence[SystemSummary], metric: str = "exact_match", whole: Sequence[SystemSummary] = ()
) -> Answer:
    """Whether the best system is above the others beyond training, by what test, and whether the ids are the cause.

    p is corrected for the tests at all lengths and of all systems of ``whole``, since the choice may have followed the
    results. Of several tasks the only step is to choose one.
    """
    contests = dict.fromkeys(system.contest for system in systems)
    if len(contests) > 1:
        steps = (f"next: choose one task, such as `.only({name!r})`" for name in _names_of_one(systems)[:1])
        return Answer(steps=tuple(steps))
    whole = [one for one in whole or systems if one.contest in contests]
    tests, order = differences(systems, metric, whole=whole), ranked(systems, metric)
    shown = {id(system.results[0]): system for system in systems}  # under their labels
    there = [shown.get(id(one.results[0]), one) for one in whole]
    found = _Contest(order, tests, there).answer(failing(order, metric))
    if not found.sure and len(systems) > 1 and sum(bool(one.fitted) for one in systems) == 1:
        found = replace(found, sure=ALONE)
    steps = tuple(in_quotes(step, there) for step in found.steps)
    return replace(found, sure=in_quotes(found.sure, there), steps=steps)


def _names_of_one(systems: Iterable[SystemSummary]) -> list[str]:
    """By which names one of the tasks can be chosen."""
    found = dict[str, set[str]]()
    for one in systems:
        for name in {group_of(one), called(one.experiment["task"])} - {""}:
            found.setdefault(name, set()).add(one.contest)
    return [name for name, contests in found.items() if len(contests) == 1]


@dataclass(frozen=True)
class _Contest:
    """Systems that are compared with each other, in order, and the tests between them, of some beyond training."""

    order: Sequence[SystemSummary]
    tests: Sequence[Difference]
    there: Sequence[SystemSummary]
    """These and others that are not shown."""

    def between(self, one: SystemSummary, other: SystemSummary) -> list[Difference]:
        return between(one, other, self.tests)

    @cached_property
    def ranked(self) -> list[SystemSummary]:
        """Those with a test, the one first that a finding names first.

        Or another of its positions that goes beyond training, with a control that fitted or more seeds, which it is
        not above.
        """
        met = {id(system) for test in self.tests for system in (test.one, test.other)}
        ranked = [system for system in self.order if id(system) in met]
        if not ranked:
            return []
        best, far = leader(ranked), in_groups(ranked).far
        same = (one for one in far if one.positions == best.positions and same_task(one, best))
        same = [one for one in same if not lengths_above(self.between(best, one))]
        best = max([best, *same], key=lambda one: (any(is_control(of, one) for of in ranked), len(one.fitted)))
        return [best, *(one for one in ranked if one is not best)]

    @cached_property
    def facing(self) -> dict[int, list[Difference]]:
        first, others = self.ranked[:1], self.ranked[1:]
        return {id(other): found for one in first for other in others if (found := self.between(one, other))}

    @cached_property
    def rivals(self) -> list[SystemSummary]:
        others = [other for other in self.ranked[1:] if id(other) in self.facing]
        return trained_alike(self.ranked[0], others) if self.ranked else []

    @cached_property
    def alike(self) -> list[SystemSummary]:
        """The first, and those that are right to the end in all seeds, too."""
        first = self.ranked[0]
        return [first, *(one for one in in_groups(self.ranked).best if one is not first)]

    @cached_property
    def field(self) -> list[SystemSummary]:
        """Rivals that do not go beyond training; where all do, those that go less far."""
        groups = in_groups(self.ranked)
        near = [one for one in self.rivals if one in groups.near]
        return near or [one for one in self.rivals if one not in groups.best] or self.rivals

    @property
    def sure(self) -> str:
        """How sure it is that the first is above its field, and how it stands to others."""
        first, (significant, said) = self.ranked[0], self.significant
        single = all(len(one.fitted) == 1 for one in (first, *self.rivals))
        among = [one for one in (self.rivals if single else self.field) if one not in significant]
        apart = [one for one in among if lengths_above(self.facing[id(one)])]
        rest = [one for one in self.rivals if one not in [*significant, *apart]]
        said = [*said, *[_clear(first, self._whom(apart), [self.facing[id(one)] for one in apart])] * bool(apart)]
        level = f"{'. It' if said else f'Not sure: {first.label}'} {_level(first, rest, self.facing)}" * bool(rest)
        return f"{'. '.join(said)}{level}."

    @property
    def significant(self) -> tuple[list[SystemSummary], list[str]]:
        """Which rivals the first is significantly above or below, and the clause that says where."""
        groups, tests = dict[tuple[str, tuple[int, ...]], list[SystemSummary]](), list[Difference]()
        for other in self.rivals:
            facing = self.facing[id(other)]
            for how, some in (("above", facing), ("below", [test.turned for test in facing])):
                if lengths := (*lengths_above(some, surely=True),):
                    groups.setdefault((how, lengths), []).append(other)
                    tests += some
        if not groups:
            return [], []
        tested, ps = {test.length for test in tests}, {test.holm for test in tests if test.sure}
        p = f"= {max(ps):.2g}" if len(ps) == 1 else f"≤ {ceil(1000 * max(ps)) / 1000:g}"
        made = f", {_tests(tests)}" * (tests[0].made > 1)
        where = [f"{how} {self._whom(some)} at {in_runs(at, tested)}" for (how, at), some in groups.items()]
        said = f"Significant: {self.ranked[0].label} is {spoken(where)} (exact rank test, Holm p {p}{made})"
        return [one for some in groups.values() for one in some], [said]

    def _whom(self, some: Sequence[SystemSummary]) -> str:
        """Names of these rivals, or how many of which they are."""
        near = in_groups(self.ranked).near
        if all(one in near for one in some):
            return _some_or_count(some, self.field, "that do not go beyond training")
        return _some_or_count(some, self.rivals)

    @cached_property
    def ahead(self) -> list[SystemSummary]:
        """The best, and then others of the same positions that go beyond training."""
        some = (one for one in in_groups(self.ranked).some if one is not self.ranked[0])
        return [*self.alike, *(one for one in some if one.positions == self.ranked[0].positions)]

    @cached_property
    def led(self) -> tuple[SystemSummary, list[SystemSummary]]:
        """The first system that has a control, of those that go beyond training, and its controls."""
        named = (one for one in in_groups(self.ranked).far[:MOST_COMPARED] if not any(one is of for of in self.ahead))
        leads = [*self.ahead, *named]
        return with_controls(leads, self.ranked, lambda *two: lengths_above(self.between(*two)))

    @cached_property
    def pairs(self) -> list[tuple[SystemSummary, SystemSummary]]:
        """One that goes beyond training, and one of the field that it is above."""
        return [(one, of) for one in self.ahead for of in self.field if lengths_above(self.between(one, of))]

    @cached_property
    def pair(self) -> tuple[SystemSummary, SystemSummary]:
        """The two that are weighed: one and its control that it is above, else those that differ least."""
        lead, controls = self.led
        ahead = any(lead is one for one in self.ahead)
        if self.pairs and ahead and any(lengths_above(self.between(lead, one)) for one in controls):
            return lead, controls[0]
        first = self.ranked[0]
        return min(
            self.pairs, key=lambda two: _unlike(*two), default=(first, nearest_rival(first, self.field) or first)
        )

    @cached_property
    def causes(self) -> tuple[list[str], str, Control]:
        """What controls show, or that there is none, and what else differs; what they do not; which to train."""
        first, (lead, controls) = self.ranked[0], self.led
        told = [controls_say(lead, other, self.between(lead, other)) for other in controls]
        said, limits = [says for says, _ in told], dict.fromkeys(limit for _, limit in told)
        leads = f"the ids of {first.label} make it lead" * (bool(said) and lead is not first)
        if leads and first.positions.scheme in PLAIN:
            said, leads = [*said, f"{first.label} has plain ids, so they are not why it leads"], ""
        mine = [two for two in (self.pair, *self.pairs) if self.pairs and (two[0] is first or not said)]
        mine = [two for two in mine if _ids_may_count(*two, self.tests)]
        control = next((way for one in controls if (way := longer_control(lead, one)).step), Control())
        if mine and (not said or lead.positions != first.positions):
            tests = self.between(*mine[0])
            enough = _enough(tests[0].made + len(tests) * sum(bool(one.fitted) for one in self.there))
            untested, missing = missing_control(*mine[0], self.rivals, self.there, enough)
            if not said or (untested and beyond_reach(mine[0][0])):
                said, leads = [*untested, *said], leads * (mine[0][0] is not first)
            control = control if control.step else missing
        limits = [*filter(None, limits), *[f"whether {leads}"] * bool(leads)]
        limit = f"{', and '.join(limits)}{',' * (len(limits) > 1)} is not tested" * bool(limits)
        alone = bool(self.pairs) and one_setting(self.pair[1], self.pair[:1]) is not None  # `why` has it
        confounded = _confounded(*self.pair) if self.pairs and not alone else ""
        return [*filter(None, [self.instead, *said, confounded])], limit[:1].upper() + limit[1:], control

    @cached_property
    def named(self) -> SystemSummary:
        """The one that a finding names first."""
        return leader([one for one in self.order if one.cells])

    @property
    def instead(self) -> str:
        """Why another than `named` is weighed; empty where it is that, and where the other has a control."""
        first, one = self.ranked[0], self.pair[0]
        if first is not self.named:
            few = len(self.named.fitted) < len(first.fitted)
            has = f"has {f'fewer seeds than {first.label}' if few else 'no control'}"
            return f"{self.named.label} {has}" * (not is_setting_of(first, self.named))
        more = one not in (first, self.led[0])
        return f"Compared: {one.label}, which differs in fewer settings than {first.label}" * more

    @property
    def seeds(self) -> MoreSeeds:
        """To how many seeds systems have to come for a significant difference of the weighed pair, or the nearest."""
        lead, controls = self.led
        tests, surely = self.between(*self.pair), lambda two: surely_above(self.between(*two))
        few, made = min(len(one.fitted) for one in self.pair), tests[0].made
        if not self.pairs:
            level = f"with {few}, {self.pair[0].label} and {self.pair[1].label} are not told apart"
            return [(one, max(_enough(made), 2 * few)) for one in self.pair], level
        agree = (one for one in controls if self.pair[0] is lead and one is not self.pair[1])
        agree = (one for one in agree if lengths_above(self.between(lead, one)))
        weighed = [self.pair, *((lead, one) for one in agree)]
        unsure = [two for two in weighed if not surely(two)]
        if not unsure and (own := [two for two in self.pairs if two[0] is self.ranked[0]]):
            unsure = [two for two in [min(own, key=lambda two: _unlike(*two))] if not surely(two)]
        who = [*(two[0] for two in unsure[:1]), *(of for _, of in unsure)]
        have = [len(one.fitted) for one in who]
        wanted = _needed(made, have[0], have[1:]) if who else []
        if wanted == have:
            return [], ""
        enough = spoken([*map(str, dict.fromkeys(wanted))])
        why = f"{enough} that fit can be significant{f' in {made} tests' * (made > 1)}"
        return sorted(zip(who, wanted, strict=True), key=lambda each: self.order.index(each[0])), why

    def answer(self, fails: SystemSummary | None) -> Answer:
        """`answer` for these systems; ``fails`` is the first where even that is wrong beyond training."""
        if not self.rivals:
            steps = next_steps(self.order, fails, Control(), ([], ""), ([], [])) if self.order else ()
            return Answer(order=self.order, steps=tuple(steps))
        cause, limit, control = self.causes
        other, name = self.pair[0] is not self.named and not is_setting_of(self.pair[0], self.named), self.named.label
        seen = any(name in says for says in cause[:2])  # of these *why* has room
        aside = f"; {f'why not {name}: see *why*' if seen else f'{name} has no control'}" * other
        confounds = list(self.pair), [*_confounds(*self.pair)]
        steps = next_steps(self.order, fails, control, self.seeds, confounds, aside)
        lead, controls = self.led
        told = [one for one in controls if lengths_above(self.between(lead, one)) and len(lead.fitted + one.fitted) > 2]
        return Answer(self.sure, tuple(cause), self.order, tuple(steps), told, limit=limit)


def _enough(tests: int) -> int:
    """The least number of seeds of each system with which one of so many tests can be significant."""
    return next(n for n in count(2) if _can(tests, n, n))


def _can(tests: int, one: int, other: int) -> bool:
    """Whether one of so many tests can be significant with these numbers of seeds."""
    return 2 * tests / comb(one + other, one) <= 1 - LEVEL


def _needed(tests: int, first: int, others: Sequence[int]) -> list[int]:
    """How many seeds of the first system and of others have to be there: of one fewer where another has more."""
    most = max(first, _enough(tests))
    if max(first, *others) <= most == _enough(tests):
        return [most] * (1 + len(others))
    each = [next(n for n in count(of) if _can(tests, most, n)) for of in others]
    return [next(n for n in count(first) if all(_can(tests, n, of) for of in each)), *each]


def _unlike(one: SystemSummary, other: SystemSummary) -> tuple[bool, bool, int]:
    """How unlike two systems are: another task, the same positions, the number of settings; the least tells most."""
    return not same_task(one, other), one.positions == other.positions, len(_confounds(one, other))


def _ids_may_count(first: SystemSummary, rival: SystemSummary, tests: Sequence[Difference]) -> bool:
    """Whether the ids of the first bring what is needed nearer than those of its rival, or that is unknown."""
    end = max(test.length for test in between(first, rival, tests))
    if not same_task(first, rival):
        return False
    ours, theirs = needed_back(first, end), needed_back(rival, end)
    return ours is None or theirs is None or ours < theirs


def _clear(first: SystemSummary, whom: str, each: Sequence[Sequence[Difference]]) -> str:
    """Where all seeds of the first are above all of others that it is not significantly above."""
    tests = [test for some in each for test in some]
    tested = {test.length for test in tests}
    below = lengths_above(test.turned for test in tests)
    lower = f"; at {in_runs(below, tested)} it is below" * bool(below)
    if all((len(test.rates), len(test.other_rates)) == (1, 1) for test in tests):
        more = f"{first.label} has more right than {whom} {_where(each, tested)}"
        return f"One seed each cannot tell: here {more}{lower}"
    at, every = _where(each, tested), f"every seed of {first.label} is above every seed of {whom}"
    return f"Clear in these seeds, not significant: {at} {every}, but {_too_few(each)}{lower}"


def _where(each: Sequence[Sequence[Difference]], tested: Collection[int]) -> str:
    """At which lengths one is above all of these, or else, each at some, above any."""
    lengths = [lengths_above(tests) for tests in each]
    shared = set(tested).intersection(*lengths)
    return f"at {in_runs(shared, tested)}" if shared else f"(each at some of {in_runs(set().union(*lengths), tested)})"


def _level(first: SystemSummary, others: Sequence[SystemSummary], facing: Mapping[int, Sequence[Difference]]) -> str:
    """How the first stands to the others, behind its name."""
    above = [other for other in others if lengths_above(facing[id(other)])]
    turned = {id(of): [test.turned for test in facing[id(of)]] for of in others}
    below = [other for other in others if other not in above and lengths_above(turned[id(other)])]
    alike = [other for other in others if other not in above and other not in below]
    single = all(len(one.fitted) == 1 for one in (first, *above, *below))
    words = ("has more right than", "has less right than") if single else ("is above", "is below")
    said = list[str]()
    for how, some, each in zip(words, (above, below), (facing, turned), strict=True):
        facing_some = [each[id(of)] for of in some]
        apart = all(test.apart for tests in facing_some for test in tests if test.length in lengths_above(tests))
        tested = {test.length for tests in facing_some for test in tests}
        every = " in every seed" * (apart and not single)
        said += [f"{how} {_some_or_count(some, others)}{every} {_where(facing_some, tested)}"] * bool(some)
    said += [f"is not told apart from {_some_or_count(alike, others)}"] * bool(alike)
    return spoken(said) if said else ""


def _some_or_count(systems: Sequence[SystemSummary], of: Sequence[SystemSummary], that: str = "others") -> str:
    """Their names, or how many they are, of those ``that`` are so."""
    if len(systems) < MOST_NAMED:
        return some_of([system.label for system in systems])
    return f"{'the ' * (len(systems) == len(of))}{len(systems)} {that}"


def _too_few(each: Sequence[Sequence[Difference]]) -> str:
    """Why tests are not significant though all seeds of one are above all of others: which seeds are too few."""
    tests, systems = [test for some in each for test in some], [each[0][0].one, *(some[0].other for some in each)]
    have = [len(one.fitted) for one in systems]
    others = sorted({*have[1:]})
    theirs = f"{others[0]} to {others[-1]}" if len(others) > 1 else f"{others[0]}"
    few = f"{have[0]} seeds each" if len({*have}) == 1 else f"{have[0]} seeds against {theirs}"
    made = max(test.made for test in tests)
    every = " (all pairs, all lengths)" * (made > 1)
    wanted = _needed(made, have[0], have[1:])
    more = [(one.label, n) for one, n, there in zip(systems, wanted, have, strict=True) if n > there]
    some = [f"{n} of {some_of([name for name, of in more if of == n])}" for n in dict.fromkeys(n for _, n in more)]
    do = f"{spoken(some)} would do" if 0 < len(more) < len(have) else f"it takes {_enough(made)} of each"
    return f"{few} are too few for {_tests(tests)}{every}: {do}"


def _tests(tests: Sequence[Difference]) -> str:
    made, hidden = max(test.made for test in tests), any(test.hidden for test in tests)
    return f"{made} test{'s' * (made > 1)}" + " with systems not shown" * hidden


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
    same, settings = first.positions == second.positions, [*_confounds(first, second).values()]
    how = f"differs from {second.label} in {'nothing but' if len(settings) == 1 else ''}".rstrip()
    how = how if same else f"differs from {second.label} in more than positions:"
    return f"{first.label} {how} {some_of(settings, 'settings')}" * bool(settings)
