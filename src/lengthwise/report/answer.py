"""What results answer: how sure the finding is, why it is so, and what to do next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, count
from math import comb

from lengthwise.core.statistics import LEVEL
from lengthwise.core.table import NEXT
from lengthwise.report.control import (
    DO,
    FAR,
    FIRST,
    FOUND,
    GUESS,
    PLAIN,
    UNTOLD,
    beyond_reach,
    control_says,
    is_control,
    longer_control,
    missing_control,
    what_differs,
    what_encodings_do,
    with_controls,
)
from lengthwise.report.differences import Difference, between, differences, lengths_above, surely_above
from lengthwise.report.finding import failing, in_groups, leader, lines_of
from lengthwise.report.next_steps import also_unfitted, confounds, explain_step, next_step
from lengthwise.report.summary import (
    MOST_COMPARED,
    MOST_NAMED,
    WRONG,
    SystemSummary,
    called,
    encoding_alone,
    fall,
    group_of,
    ids_alone,
    in_quotes,
    in_runs,
    median_rates,
    nearest_rival,
    of_equal_steps,
    ranked,
    some_of,
    trained_alike,
    trained_low,
)
from lengthwise.report.why import distances_text, needed_back, never_trained, same_task
from lengthwise.report.words import p_text
from lengthwise.tasks.values import spoken

SURE, WHY = "how sure", "why"
"""What rows of an answer are called, behind the finding."""
MOST_LINES, MOST_OF_WHY = 3, 5
"""Lines of a terminal that a row below the finding has, and that *why* has."""
UNTESTED = "Not tested"
"""How it begins what is said where no run tells whether it is the ids."""
ALONE = "No other system fits, so this shows nothing about positions."
ALIKE = "No difference at these lengths."


@dataclass(frozen=True)
class Answer:
    """How sure it is that the best system is above others, why, and what to do next; empty where unknown."""

    sure: str = ""
    """Whether the best is significantly above those that go less far, or in every seed."""
    why: str = ""
    """What the control shows of the ids, or that there is none; whose ids were never trained."""
    step: str = ""
    """The step that tells most, and its commands in further lines."""
    advice: tuple[str, ...] = ()
    """For the author: by what test, what explains a fall, and how far back tokens are that are needed."""
    enough: int = 0
    """Of the best and those that it is clearly above, though not significantly, how many seeds of each would do."""

    @property
    def rows(self) -> dict[str, str]:
        """Rows below the finding by their names, those that are known."""
        return {name: says for name, says in ((SURE, self.sure), (WHY, self.why)) if says}

    @property
    def next(self) -> tuple[str, ...]:
        """The step as advice has it, where there is one."""
        return (f"{NEXT}: {self.step}",) * bool(self.step)

    @property
    def on_page(self) -> dict[str, str]:
        """Rows of a page that others read, which has no commands, since these have paths of a machine."""
        step = self.step.partition("\n")[0]
        return self.rows | dict.fromkeys([NEXT] * bool(step), step)


def answer(
    systems: Sequence[SystemSummary], metric: str = "exact_match", whole: Sequence[SystemSummary] = ()
) -> Answer:
    """Whether the best system is above the others beyond training, by what test, and whether the ids are the cause.

    p is corrected for the tests at all lengths and of all systems of ``whole``, since the choice may have followed the
    results. Of several tasks the only step is to choose one.
    """
    contests = dict.fromkeys(system.contest for system in systems)
    if len(contests) > 1:
        names = _names_of_one(systems)[:1]
        return Answer(step="".join(f"choose one task, such as `.only({name!r})`" for name in names))
    whole = [one for one in whole or systems if one.contest in contests]
    tests, order = differences(systems, metric, whole=whole), ranked(of_equal_steps(systems), metric)
    shown = {id(system.results[0]): system for system in systems}  # under their labels
    there = [shown.get(id(one.results[0]), one) for one in whole]
    found = _Contest(order, tests, there).answer(failing(order, metric))
    if not found.sure and len(systems) > 1 and sum(bool(one.fitted) for one in systems) == 1:
        found = replace(found, sure=ALONE)
    sure, why, step = (in_quotes(text, there) for text in (found.sure, found.why, found.step))
    falls = next((see for one in order if fall(one) and (see := explain_step(one))), "")
    made = tests[0].made if tests else 0
    hidden = ", also of systems not shown" * any(test.hidden for test in tests)
    advice = (
        *(in_quotes(text, there) for text in found.advice),
        f"tests: an exact rank test of each pair at each longer length, {made} in all{hidden}; p by Holm" * (made > 1),
        falls * (falls.partition("\n")[2] not in found.step),
        distances_text(order),
    )
    return replace(found, sure=sure, why=why, step=step, advice=tuple(filter(None, advice)))


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

    def above(self, one: SystemSummary, other: SystemSummary) -> list[int]:
        return lengths_above(self.between(one, other))

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
        same = [one for one in same if not self.above(best, one)]
        best = max([best, *same], key=lambda one: (any(is_control(of, one) for of in ranked), len(one.fitted)))
        return [best, *(one for one in ranked if one is not best)]

    @cached_property
    def rivals(self) -> list[SystemSummary]:
        others = [other for other in self.ranked[1:] if self.between(self.ranked[0], other)]
        return trained_alike(self.ranked[0], others) if self.ranked else []

    @cached_property
    def field(self) -> list[SystemSummary]:
        """Rivals that go less far, of more than a few those not beyond training; where none goes less far, all."""
        groups = in_groups(self.ranked)
        less = [one for one in self.rivals if one not in groups.best]
        some = [one for one in less if one in groups.near] or [one for one in less if one in groups.low]
        return (some if len(less) >= MOST_COMPARED else less) or less or self.rivals

    @property
    def sure(self) -> tuple[str, int]:
        """How sure it is that the first is above its field, and how many seeds of each would do where these are few."""
        ways = ((names, more) for more in (True, False) for names in (MOST_COMPARED - 1, 0))
        said = [(f"{(found := self._sure(names))[0]}{self.of_why(found[0]) * more}", found[1]) for names, more in ways]
        return next((each for each in said if self.has_room(each[0])), said[-1])

    def of_why(self, said: str) -> str:
        """How the first stands to the one of *why*; empty where that is it, or is ``said`` to be above or not."""
        first, one = self.ranked[0], self.led[0]
        if not any(one is of for of in self.rivals) or one.label in said or len(first.fitted) == len(one.fitted) == 1:
            return ""
        tests = self.between(first, one)
        tested = {test.length for test in tests}
        surely, each = (in_runs(lengths_above(tests, surely=sure), tested) for sure in (True, False))
        if surely:
            return f" Significantly above {one.label}, too, at {surely}."
        return f" Above {one.label} in every seed at {each}." if each else f" Not told apart from {one.label}."

    def _sure(self, names: int) -> tuple[str, int]:
        """As `sure`, with so many names of others at most."""
        first, field, name = self.ranked[0], self.field, self.ranked[0].label
        facing, groups = {id(one): self.between(first, one) for one in field}, in_groups(self.order)
        the = "the " * (len(field) == len(groups.near) and field[0] in groups.near)

        def whom(some: Sequence[SystemSummary]) -> str:
            if len(some) <= names or len(field) == 1:
                return some_of([one.label for one in some])
            return f"{f'{len(some)} of ' * (len(some) < len(field))}{the}{len(field)} others"

        if all(len(one.fitted) == 1 for one in (first, *field)):
            return "One seed each cannot tell.", 0
        sure = [one for one in field if surely_above(facing[id(one)])]
        apart = sure or [one for one in field if lengths_above(facing[id(one)])]
        if not apart:
            if all(one in in_groups(self.ranked).best for one in (first, *field)):
                return ALIKE, 0
            p = min((test.holm for some in facing.values() for test in some), default=0.0)
            lowest = f" (rank test, lowest Holm p {p_text(p)})" * (p > 1 - LEVEL)
            return f"{name} is not significantly above {whom(field)} at any length{lowest}.", 0
        tested = {test.length for one in apart for test in facing[id(one)]}
        lengths, same = [lengths_above(facing[id(one)], surely=bool(sure)) for one in apart], dict[str, list[str]]()
        for one, where in zip(apart, lengths, strict=True):
            same.setdefault(in_runs(where, tested), []).append(one.label)
        shared = in_runs(tested.intersection(*lengths), tested)
        at = whom(apart) + (f" at {shared}" if shared else ", each at some longer length")
        if len(apart) <= names:
            at = spoken([f"{some_of(labels)} at {where}" for where, labels in same.items()])
        if sure:
            p = max(test.holm for one in sure for test in facing[id(one)] if test.sure)
            rest = [one.label for one in field if one not in sure]
            more = "the other" if len(rest) == 1 else f"{len(rest)} others"
            yet = f", not significantly above {some_of(rest) if len(rest) <= names else more}" * bool(rest)
            return f"{name} is significantly above {at} (rank test, Holm p ≤ {p_text(p)}){yet}.", 0
        every = f"every seed of {name} is above all of {at}"
        few = not any(_can(self.tests[0].made, len(first.fitted), len(one.fitted)) for one in apart)
        return f"Not significant{' with so few seeds' * few}, but {every}.", self.cause[2] or self.enough

    @cached_property
    def ahead(self) -> list[SystemSummary]:
        """The first, those that are right to the end in all seeds, too, and others of its positions that go far."""
        first, groups = self.ranked[0], in_groups(self.ranked)
        best = [first, *(one for one in groups.best if one is not first)]
        return [*best, *(one for one in groups.some if one is not first and one.positions == first.positions)]

    @cached_property
    def led(self) -> tuple[SystemSummary, list[SystemSummary]]:
        """The first system that has a control, of those that go beyond training, and its controls.

        Where the first can have none, also of those that do not.
        """
        groups = in_groups(self.ranked)
        others = [*groups.far[:MOST_COMPARED], *(groups.near if beyond_reach(self.ranked[0]) else ())]
        named = (one for one in others if not any(one is of for of in self.ahead))
        return with_controls([*self.ahead, *named], self.ranked, self.above)

    @cached_property
    def pairs(self) -> list[tuple[SystemSummary, SystemSummary]]:
        """One that goes beyond training, and one of the field that it is above."""
        return [(one, of) for one in self.ahead for of in self.field if self.above(one, of)]

    @cached_property
    def pair(self) -> tuple[SystemSummary, SystemSummary]:
        """The two that are weighed: one and its control that it is above, else those that differ least."""
        lead, controls = self.led
        ahead = any(lead is one for one in self.ahead)
        if self.pairs and ahead and any(self.above(lead, one) for one in controls):
            return lead, controls[0]
        first = self.ranked[0]
        return min(
            self.pairs, key=lambda two: _unlike(*two), default=(first, nearest_rival(first, self.field) or first)
        )

    @cached_property
    def cause(self) -> tuple[str, str, int]:
        """What a control shows, or that there is none, how to train one, and how many seeds of each it takes then.

        These are 0 where others are compared then.
        """
        first, (lead, controls) = self.ranked[0], self.led
        said = next((control_says(lead, other, self.between(lead, other)) for other in controls), "")
        longer = (longer_control(lead, one, one, self.enough_alone(lead, one), self.order) for one in controls)
        step = next(filter(None, longer), "")
        plain = next((one for one in self.rivals if one.positions.scheme in PLAIN), None)
        if lead.positions != first.positions and plain is not None and not said.startswith(FOUND):
            # That the ids of the best are not tested comes before that another's are not shown to help.
            enough, alone = self.enough_with(1, first, plain), self.enough_alone(first, plain)
            untested, train, apart = missing_control(first, plain, self.rivals, self.order, self.there, enough, alone)
            if untested:
                return untested, train or step, 0 if apart or not train else enough
        alone = any(ids_alone(one, first) or encoding_alone(one, first) for one in self.rivals)
        if said and lead.positions != first.positions and not alone:
            said = f"Not tested for {first.label}, as no other differs from it in one thing. {said}"
        mine = [two for two in (self.pair, *self.pairs) if self.pairs and (two[0] is first or not said)]
        if beyond_reach(first):  # another one with such ids may have a control
            far = (one for one in in_groups(self.ranked).far if one.positions.scheme not in PLAIN)
            mine = [*((one, of) for one in far for of in self.field if self.above(one, of)), *mine]
            mine.sort(key=lambda two: bool(beyond_reach(two[0])))
        mine = [two for two in mine if _ids_may_count(*two, self.tests)]
        if mine and (not said or lead.positions != first.positions):
            pair = mine[0]
            enough, alone = self.enough_with(1, *pair), self.enough_alone(*pair)
            untested, missing, apart = missing_control(*pair, self.rivals, self.order, self.there, enough, alone)
            counts = 0 if step or apart else enough if missing else self.enough
            return said or untested, step or missing, counts
        return said, step, 0 if step else self.enough

    @cached_property
    def by_encoding(self) -> str:
        """That the encoding makes the first go farther than one with the same ids and all else; empty without one.

        Behind it what the two encodings do. One seed each shows nothing, and so does one that is wrong within training.
        """
        first = self.ranked[0]
        same = (one for one in self.rivals if encoding_alone(one, first) and self.above(first, one))
        some = (one for one in same if len(first.fitted) + len(one.fitted) > 2)
        one = next((one for one in some if trained_low(one) is None), None)
        if one is None:
            return ""
        return what_differs(first, one, self.between(first, one), "encoding") + what_encodings_do(first, one)

    @property
    def enough(self) -> int:
        """How many seeds of each can be significant, of as many tests as there are."""
        return _enough(self.tests[0].made)

    def enough_with(self, new: int, *two: SystemSummary) -> int:
        """How many seeds of each can be significant once so many new systems are tested, as often as these two are."""
        tests, fitted = self.between(*two), sum(bool(one.fitted) for one in of_equal_steps(self.there))
        return _enough(tests[0].made + len(tests) * (comb(fitted + new, 2) - comb(fitted, 2)))

    def enough_alone(self, *two: SystemSummary) -> int:
        """How many seeds of each can be significant where all that are shown, if few, are trained anew."""
        systems = len(self.order) if len(self.order) <= MOST_NAMED else 2
        return _enough(len(self.between(*two)) * comb(systems, 2))

    @property
    def seeds(self) -> list[tuple[SystemSummary, int]]:
        """To how many seeds systems have to come for a significant difference of the weighed pair, or the nearest."""
        lead, controls = self.led
        few, made = min(len(one.fitted) for one in self.pair), self.between(*self.pair)[0].made
        if not self.pairs:
            return [(one, max(_enough(made), 2 * few)) for one in self.pair]
        mine = self.pair[0] is lead
        agree = (one for one in controls[: None if mine else 1] if not mine or one is not self.pair[1])
        weighed = [self.pair, *((lead, one) for one in agree if self.above(lead, one))]
        unsure = [two for two in weighed if not surely_above(self.between(*two))]
        if not unsure and (own := [two for two in self.pairs if two[0] is self.ranked[0]]):
            some = own if len(own) <= MOST_COMPARED else [min(own, key=lambda two: _unlike(*two))]
            unsure = [two for two in some if not surely_above(self.between(*two))]
        who = list({id(one): one for one in (*(two[0] for two in unsure), *(of for _, of in unsure))}.values())
        if len({id(two[0]) for two in unsure}) > 1:
            most = max(_enough(made), *(len(one.fitted) for one in who))
            return [(one, most) for one in self.order if any(one is of for of in who)]
        wanted = _needed(made, len(who[0].fitted), [len(one.fitted) for one in who[1:]]) if who else []
        return sorted(zip(who, wanted, strict=True), key=lambda each: self.order.index(each[0]))

    @property
    def is_least(self) -> bool:
        """Whether with fewer seeds of each than `seeds` has for those with too few no test can be significant."""
        made = self.tests[0].made
        fewer = [len(one.fitted) if len(one.fitted) >= n else n - 1 for one, n in self.seeds]
        return not any(_can(made, *two) for two in combinations(fewer, 2))

    def answer(self, fails: SystemSummary | None) -> Answer:
        """`answer` for these systems; ``fails`` is the first where even that is wrong beyond training."""
        never = never_trained(self.order)
        if not self.rivals:
            why = f"{self._without_plain} {never}".strip()
            return Answer(why=why, step=next_step(self.order, fails, "", [], [], False, False) if self.order else "")
        cause, control, _ = self.cause
        sure, enough = self.sure
        short, alone = _short(cause), _short(self.by_encoding)
        causes = (cause, never), (short, never), (cause, ""), (short, "")  # what is not tested is always said
        every = [" ".join(filter(None, (first, *rest))) for first in (self.by_encoding, alone, "") for rest in causes]
        why = next((text for text in every if self.has_room(text, MOST_OF_WHY)), every[-1]) or self._without_plain
        step = next_step(self.order, fails, control, self.seeds, self.pair, bool(self.pairs), self.is_least)
        head, *commands = step.split("\n")
        dear = "\n".join([head.partition(FIRST)[0], *commands])
        ways = (also_unfitted(step, self.order), step, also_unfitted(dear, self.order), dear)
        step = next((way for way in ways if self.has_room(way)), dear)
        compared = self._sure(len(self.field))[0]
        whole = {SURE: compared + self.of_why(compared), WHY: every[0], NEXT: ways[0].partition("\n")[0]}
        said = sure, why, step.partition("\n")[0]
        cut = (
            f"{name}, in full: {text}"
            for (name, text), row in zip(whole.items(), said, strict=True)
            if text and row != text
        )
        return Answer(sure, why, step, tuple(cut), enough)

    @property
    def _without_plain(self) -> str:
        """That nothing tells whether other ids are why the first goes farther, where no plain ones fitted."""
        plain = [one for one in self.there if one.positions.scheme in PLAIN]
        if not plain or not self.order or any(one.fitted for one in plain):
            return ""
        first = leader(self.ranked or self.order)
        right = any(n > first.max_length and rate >= WRONG for n, rate in median_rates(first).items())
        return f"{UNTESTED} whether it is the ids, as no plain ids fitted." * right

    def has_room(self, text: str, most: int = MOST_LINES) -> bool:
        """Whether a row below the finding, of so many lines at most, has room for a text."""
        return lines_of(in_quotes(text, self.there)) <= most


def _short(cause: str) -> str:
    """Without what the screen may have no room for."""
    return re.split("|".join((GUESS, DO, FAR, UNTOLD)), cause)[0]


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
    return not same_task(one, other), one.positions == other.positions, len(confounds(one, other))


def _ids_may_count(first: SystemSummary, rival: SystemSummary, tests: Sequence[Difference]) -> bool:
    """Whether the ids of the first bring what is needed nearer than those of its rival, or that is unknown."""
    end = max(test.length for test in between(first, rival, tests))
    if not same_task(first, rival):
        return False
    ours, theirs = needed_back(first, end), needed_back(rival, end)
    return ours is None or theirs is None or ours < theirs
