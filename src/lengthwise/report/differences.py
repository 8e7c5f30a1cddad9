"""How sure a difference between systems is, and what theory says of its cause: exact tests, and one line of words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count
from math import comb

from lengthwise.core.result_file import Axes
from lengthwise.core.statistics import LEVEL, holm, rank_test
from lengthwise.report.control import UNTESTED, controls_say, is_control, missing_control, with_controls
from lengthwise.report.next_steps import Confounds, MoreSeeds, next_steps
from lengthwise.report.summary import (
    Brackets,
    Setting,
    SystemSummary,
    besides_positions,
    brackets_text,
    called,
    differing_settings,
    failing,
    group_of,
    ids_alone,
    in_runs,
    nearest_rival,
    other_settings,
    ranked,
    some_of,
    trained_alike,
)
from lengthwise.report.why import same_task, span, why
from lengthwise.report.words import setting_text, weight

IDS_ALONE = "these two differ in the ids alone"
"""The end of a clause about such a pair."""
MAY_BE = ", which may be the cause"
"""The end of the clause of what else two systems differ in."""
MOST_REST = 2
"""Systems beside the rival that a comparison names; of more it says how many they are."""
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


def how_sure(
    systems: Sequence[SystemSummary], metric: str = "exact_match", brackets: Brackets = "interval"
) -> list[str]:
    """The parts of `how_sure_and_next`, with what bands and brackets are before what to do next."""
    (said, cause, then), seeds = how_sure_and_next(systems, metric), (len(system.fitted) for system in systems)
    shown = [f"band and brackets: {brackets_text(seeds, brackets)}"] * bool(said)
    return [*said[:1], *[cause] * bool(cause), *said[1:], *shown, *then[:1]]


def how_sure_and_next(
    systems: Sequence[SystemSummary], metric: str = "exact_match", whole: Sequence[SystemSummary] = ()
) -> tuple[list[str], str, list[str]]:
    """Whether the best system beyond training is above the second, by what test; `why` systems fall; what to do next.

    The first is a list of clauses, the answer first, of each task by itself, empty where fewer than two systems were
    tested beyond training. p is corrected for the tests at all lengths and of all systems of ``whole``, since the
    choice may have followed the results. Of several tasks there is no cause, and what to do is to choose one.
    """
    tests = differences(systems, metric, whole=whole)
    clauses, cause, then = list[str](), "", list[str]()
    contests = dict.fromkeys(system.contest for system in systems)
    for contest in contests:
        order = ranked([system for system in systems if system.contest == contest], metric)
        shown = {id(system.results[0]): system for system in systems}  # under their labels
        there = [shown.get(id(one.results[0]), one) for one in whole or systems if one.contest == contest]
        some, more, control, confounds = _of_contest(order, tests, there)
        then = next_steps(order, failing(order, metric), control, more, confounds)
        clauses, cause = [*clauses, *some], why(order, "; ".join(some))
    if len(contests) > 1:
        cause, then = "", [f"next: choose one task, such as `.only({name!r})`" for name in _names_of_one(systems)[:1]]
    if not clauses and len(systems) > 1 and sum(bool(one.fitted) for one in systems) == 1:
        clauses.append("no other system fitted, so this shows nothing about positions")
    clauses += [HIDDEN] * (bool(clauses) and any(test.hidden for test in tests))
    return clauses, cause, then


def _names_of_one(systems: Iterable[SystemSummary]) -> list[str]:
    """By which names one of the tasks can be chosen."""
    found = dict[str, set[str]]()
    for one in systems:
        for name in {group_of(one), called(one.experiment["task"])} - {""}:
            found.setdefault(name, set()).add(one.contest)
    return [name for name, contests in found.items() if len(contests) == 1]


def _of_contest(
    ranked: Sequence[SystemSummary], tests: Sequence[Difference], there: Sequence[SystemSummary]
) -> tuple[list[str], MoreSeeds, str, Confounds]:
    """The clauses of systems that are compared with each other, how many seeds are needed, and what comes before these.

    The number is 0 if those that there are suffice. Then follow what to do about the control, and in what the best and
    its rival differ besides, then in what all do. ``there`` has systems that are not shown, too.
    """
    met = {id(system) for test in tests for system in (test.one, test.other)}
    ranked = [system for system in ranked if id(system) in met]
    facing = {id(other): found for other in ranked[1:] if (found := _between(ranked[0], other, tests))}
    rivals = trained_alike(ranked[0], [other for other in ranked[1:] if id(other) in facing]) if ranked else []
    if not rivals:
        return [], (0, "", []), "", ([], [])
    first, lengths = ranked[0], "length beyond training"
    made = facing[id(rivals[0])][0].made
    second = nearest_rival(first, rivals) or rivals[0]
    above = [other for other in rivals if lengths_apart(facing[id(other)])]
    alike, wins = [other for other in rivals if other not in above], second in above
    held = [second] if wins else above
    found, parts, control = [test for other in held for test in facing[id(other)]], list[str](), ""
    lead, controls = with_controls(ranked, rivals, lambda one, other: _surely_above(_between(one, other, tests)))
    said, besides = list[str](), _confounded(first, nearest_rival(first, held) or second)
    if lengths_apart(found):
        said.append(_measured(first, held, found))
        said += _above_the_rest(first, [other for other in above if other not in held], facing)
        besides += MAY_BE * bool(besides)
    if alike:
        overlap = not any(test.turned.apart for other in alike for test in facing[id(other)])
        level = (
            f"{first.label} is not told apart from {_some(alike)}: their seeds overlap at every {lengths}"
            if overlap
            else f"{first.label} is not above {_some(alike)}: at no {lengths} are all its seeds above theirs"
        )
        said = [*said, level] if wins else [level, *said]
    sentences = ["; ".join(said or [f"{first.label} is above the others at no {lengths} alike"]), besides]
    for other in (*held, *(one for one in above if one.positions.scheme != first.positions.scheme)):
        lengths_of = (min(first.max_length, other.max_length), max(test.length for test in facing[id(other)]))
        ours, theirs = span(first, lengths_of), span(other, lengths_of)
        unknown = ours is None or theirs is None  # of a task of the user's own
        if same_task(first, other) and (unknown or ours != theirs):
            if ours is None or theirs is None or ours.span[-1] < theirs.span[-1]:
                untested, control = missing_control(first, other, rivals, there) if lead is first else ([], "")
                parts += untested
            break
    how = {"surely": list[SystemSummary](), "every seed": list[SystemSummary](), "not": list[SystemSummary]()}
    for other in controls:
        found = _between(lead, other, tests)
        how["surely" if _surely_above(found) else "every seed" if lengths_apart(found) else "not"].append(other)
    says = controls_say(lead, how)
    parts = [_sentences([*sentences, "; ".join(says)]), *parts]
    for one, other in combinations(ranked, 2):
        if ids_alone(one, other) and not (one is first and (other in held or other in controls)):
            found = _between(one, other, tests)
            apart = bool(lengths_apart(found))
            says = _measured(one, [other], found) if apart else f"{one.label} is not told apart from {other.label}"
            own = one.positions.scheme == first.positions.scheme and is_control(other, one)
            if apart and own and parts[-1].startswith(UNTESTED):
                parts[-1] += f"; with another encoding, {says}; {IDS_ALONE}"
            else:
                parts.append(f"{says}; {IDS_ALONE}")
    second = nearest_rival(first, held) or second
    weighed = [second, *(other for other in controls * (lead is first) if other in above and other is not second)]
    unsure = [other for other in weighed if not _surely_above(facing[id(other)])]
    seeds = min([len(first.fitted), *(len(other.fitted) for other in unsure)])
    enough = next(n for n in count(2) if 2 * made / comb(2 * n, n) <= 1 - LEVEL)
    if held:
        few = f"of equal numbers, {enough} that fit are the least to be significant{f' in {made} tests' * (made > 1)}"
        more = (enough * bool(unsure) * (seeds < enough), few, [first, *unsure])
    else:
        more = (
            max(enough, 2 * seeds),
            f"with {seeds}, {first.label} and {second.label} are not told apart",
            [first, second],
        )
    return parts, more, control, ([first, second], [*_confounds(first, second)])


def compared_text(clauses: Sequence[str]) -> str:
    """Of the clauses of `how_sure_and_next` those that a note has: the comparison, and that its cause is not tested."""
    untested = [clause for clause in clauses[1:2] if clause.startswith(UNTESTED)]
    return f"beyond training, {_sentences([*clauses[:1], *untested])}" if clauses else ""


def _sentences(clauses: Iterable[str]) -> str:
    """These as sentences, without the last full stop; the first keeps its first letter, which may be of a name."""
    first, *more = filter(None, clauses)
    return ". ".join([first, *(f"{one[:1].upper()}{one[1:]}" for one in more)])


def _some(systems: Sequence[SystemSummary]) -> str:
    return some_of([system.label for system in systems])


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


def _above_the_rest(
    first: SystemSummary, rest: Sequence[SystemSummary], facing: Mapping[int, Sequence[Difference]]
) -> list[str]:
    """Where all seeds of the first system are above those of all systems beside the second."""
    tests = [test for other in rest for test in facing[id(other)]]
    common = [set(lengths_apart(facing[id(other)])) for other in rest]
    if not (lengths := sorted(set.intersection(*common)) if common else []):
        return []
    sure = all(test.holm <= 1 - LEVEL for test in tests if test.length in lengths)
    at = in_runs(lengths, {test.length for test in tests})
    who = _some(rest) if len(rest) <= MOST_REST else f"{len(rest)} others"
    fit = "fitted " * any(len(one.fitted) < len(one.results) for one in (first, *rest))
    return [f"above {who} in every {fit}seed at {at}, {'' if sure else 'not '}significantly"]


def _measured(first: SystemSummary, others: Sequence[SystemSummary], tests: Sequence[Difference]) -> str:
    """Where all seeds of the first system are above all of the others, and how likely that is by chance."""
    lengths, tested, names = lengths_apart(tests), {test.length for test in tests}, _some(others)
    apart = [test for test in tests if test.length in lengths]
    below = lengths_apart(test.turned for test in tests)
    if all((len(test.rates), len(test.other_rates)) == (1, 1) for test in apart):
        said = [f"has more right than {names} at {in_runs(lengths, tested)}, of one seed each, which may be luck"]
    else:
        sure = lengths_apart(test for test in apart if test.holm <= 1 - LEVEL)
        rest, count = [length for length in lengths if length not in sure], tests[0].made
        p = _p([test.holm for test in apart if test.length in sure])
        said = [
            f"beats {names} at {in_runs(sure, tested)} (exact rank test, Holm p {p}, {count} test{'s' * (count > 1)})"
        ] * bool(sure)
        who = ("them" if len(others) > 1 else "it") if sure else names
        fit = "fitted " * any(len(system.fitted) < len(system.results) for system in (first, *others))
        why = _too_few([test for test in apart if test.length in rest])
        said += [f"is above {who} in every {fit}seed at {in_runs(rest, tested)}, not significantly: {why}"] * bool(rest)
    said += [f"is below {'them' if len(others) > 1 else 'it'} at {in_runs(below, tested)}"] * bool(below)
    return f"{first.label} {', and '.join(said)}"


def _too_few(tests: Sequence[Difference]) -> str:
    """Why tests are not significant though all seeds of one are above all of the other: these are too few."""
    seeds = {(len(test.rates), len(test.other_rates)) for test in tests}
    n, m = min(seeds, key=sum, default=(1, 1))
    few, made = f"{n} seeds each" if n == m else f"{n} and {m} seeds", max((test.made for test in tests), default=1)
    return f"{few} are too few for {made} tests (Holm)" if made > 1 else f"{few} are too few (exact rank test)"


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
    return found | dict(sorted(other.items(), key=lambda each: weight(each[1])))


def _confounded(first: SystemSummary, second: SystemSummary) -> str:
    """The clause of `_confounds`, which does not begin with a name, as a sentence may begin with it."""
    who = "the systems " * (first.positions == second.positions) + f"{first.label} and {second.label}"
    return besides_positions((first, second), [*_confounds(first, second).values()], who)
