"""What was measured of a target, of other settings of it, and of those that theory says the same of."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from lengthwise.core.errors import shortened
from lengthwise.crasp.decide import no_counting
from lengthwise.forecast import features
from lengthwise.forecast.answer import (
    ELSEWHERE,
    IN_FULL,
    KNOWN,
    NOT_FITTED,
    OWN_LANGUAGE,
    SIMILAR,
    TOO_FAR,
    exceptions,
    near_ratio,
)
from lengthwise.languages.automaton import Dfa, minimize
from lengthwise.measured.cells import Format, MeasuredCell, cells, others
from lengthwise.positions.system import SYSTEMS, PositionSystem, words
from lengthwise.prediction import programs
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.values import spoken

NEAR = 1.6
"""Tests within this factor of M / N are shown as measured."""
NEAR_TRAIN = 2.0
"""Tests near M / N answer if N, too, is within this factor."""
IDENTITY = ("language", "ask", "symbols", "scratchpad", "operands", "base")
"""Settings of a task that make it another task."""
SCRATCHPAD_SYSTEM = KNOWN["predictive-coupling"]
"""The position system under which scratchpads of states were measured."""
OF_KIND: dict[features.Kind, str] = {
    "no": "other languages without such a program",
    "without counting": "other languages whose programs count nothing",
    "by counting": "other languages whose programs compare counts",
    "by windows or periods": "other languages that need the last few symbols or the position modulo a number",
}
"""Languages of a kind, in words."""
OF_NEEDS: dict[tuple[bool, bool], str] = {
    (True, False): "other languages that need the last few symbols",
    (False, True): "other languages that need the position modulo a number",
    (True, True): "other languages that need both the last few symbols and the position modulo a number",
}
"""Languages by whether their programs have windows and periods, in words."""
Tested = Sequence[tuple[MeasuredCell, tuple[int, int]]]
"""Cells, each with tested lengths."""


@dataclass(frozen=True)
class Measured:
    """A line on what was measured; ``accuracy`` where it was this very target; ``alike``: right ones of its kind.

    ``seen`` is what was measured of the target where it is no accuracy, in a word or two; ``hard``: whether the
    accuracy is of hard words, too.
    """

    line: str
    accuracy: float | None
    alike: tuple[int, int] = (0, 0)
    seen: str = ""
    hard: bool = False


def task_identity(task: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that make a task another one; sizes, such as ``letters``, are left out."""
    return {key: task[key] for key in ("name", *IDENTITY) if task.get(key) is not None}


def same_task(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two configurations are of one task, as far as both name the settings of its identity."""
    first, second = task_identity(one), task_identity(other)
    return all(first[key] == second[key] for key in first.keys() & second.keys())


def trained_plainly(cell: MeasuredCell, system: PositionSystem) -> bool:
    """Whether a cell was trained with a system, without further changes."""
    if (system.registered_scheme, system.random_start) != (cell.scheme, cell.random_start):
        return False
    return cell.encoding_name == system.encoding and not any(mark in cell.system for mark in ("+reg", "no-qk"))


def trained_near(cell: MeasuredCell, train: int) -> bool:
    """Whether a cell was trained to about as long as is asked."""
    return 1 / NEAR_TRAIN <= cell.train / train <= NEAR_TRAIN


def bin_of(ratio: float, cell: MeasuredCell) -> tuple[int, int] | None:
    """The tested lengths of a cell whose middle is nearest to M / N, within the factor `NEAR`.

    Tests that differ beside the length count as one, by their hardest (`MeasuredCell.accuracy`).
    """
    places = {(t.low, t.high) for t in cell.tests if t.low > cell.train}
    if not places:
        return None
    apart = {place: abs(math.log(sum(place) / 2 / cell.train / ratio)) for place in places}
    best = min(apart, key=lambda place: (apart[place], place))
    return best if apart[best] <= math.log(NEAR) else None


def first_fall(cell: MeasuredCell, place: tuple[int, int], cut: float) -> tuple[int, int]:
    """The shortest tested lengths up to these at which a cell is not right; these, if there are none."""
    shorter = sorted({(t.low, t.high) for t in cell.tests if cell.train < t.low <= place[0] and t.high <= place[1]})
    return next((each for each in shorter if (cell.accuracy(*each) or 0.0) < cut), place)


def agreeing(shares: Sequence[float], cut: float) -> bool:
    """Whether all settings came out alike; where they did not, a measurement answers nothing by itself."""
    return len({share >= cut for share in shares}) == 1


def seeds_right(cell: MeasuredCell, place: tuple[int, int], cut: float) -> list[bool]:
    """For each seed of a cell whether it fit and was right in these lengths on at least this share."""
    tests = [t for t in cell.tests if (t.low, t.high) == place]
    return [
        fit and all((value or 0.0) >= cut for value in values)
        for fit, *values in zip(cell.fitted, *(t.accuracy for t in tests), strict=True)
    ]


def line_of(cell: MeasuredCell, place: tuple[int, int]) -> str:
    """What one cell measured, in a few words."""
    found = cell.accuracy(*place)
    where = f"{place[0]}–{place[1]}" if place[0] < place[1] else str(place[0])
    count = f"{sum(cell.fitted)} of {len(cell.seeds)} seeds fit{trained_with(cell)}"
    result = f"{found:.2f} at {where} ({count})" if found is not None else f"{NOT_FITTED} ({count})"
    return f"trained to {cell.train}: {result}; {cell.study}" + f", commit {cell.commit}" * bool(cell.commit)


def trained_with(cell: MeasuredCell) -> str:
    """The layers, width and steps of a cell, as far as its study has them, in words."""
    given = {**cell.settings.get("model", {}), **cell.settings.get("training", {}), **cell.settings}
    layers, width, steps = (given.get(name) for name in ("layers", "width", "steps"))
    known = [f"{layers} layer{'s' * (layers != 1)}" if layers else "", f"width {width}" if width else ""]
    known = [*filter(None, [*known, f"{steps:,} steps" if steps else ""])]
    return f", with {', '.join(known)}" if known else ""


def measured_task(
    task: Task, system: PositionSystem, train: int, ratio: float, cut: float, among: Sequence[MeasuredCell] = ()
) -> Measured:
    """What these cells have of this task near this ratio: near this N, with its median accuracy, else at others.

    Where it is not right there, the settings with which it is are named, too.
    """
    by_setting = settings_tested(task, system, ratio, among)
    own = [(cell, first_fall(cell, place, cut)) for cell, place in by_setting.pop("", [])]
    near = [(cell, place) for cell, place in own if trained_near(cell, train)]
    found = own or [each for tested in by_setting.values() for each in tested]
    if not found:
        return Measured("", None)
    shares = [cell.accuracy(*place) or 0.0 for cell, place in found]
    middle, mixed = statistics.median(shares), not agreeing(shares, cut)
    studies = {cell.study for cell, _ in found}
    of = f" of {studies.pop()}" if len(studies) == 1 else ""
    line = f"median accuracy {middle:.2f} over {len(found)} settings{of} {near_ratio(ratio)}"
    line += f", from {min(shares):.2f} to {max(shares):.2f}" * mixed
    line = line if len(found) > 1 else line_of(*found[0])
    if unfit := sum(cell.accuracy(*place) is None for cell, place in found) * (len(found) > 1):
        line += f", {unfit} of them {NOT_FITTED}"
    line += f"{TOO_FAR} {train}" * bool(own and not near)
    apart = f"{min(shares):.2f}–{max(shares):.2f}" if mixed else f"{middle:.2f}"
    seen = f"mixed {ELSEWHERE}" if mixed else f"{apart} {ELSEWHERE}"
    seen = apart if near else seen
    if all(cell.accuracy(*place) is None for cell, place in found):
        seen = NOT_FITTED
    accuracy = middle if near and not mixed else None
    if not own:
        line = f"with {'other settings of the task' if len(by_setting) > 1 else ''.join(by_setting)}, {line}"
    right = setting_right(by_setting, train, ratio, cut)
    if right and (len(by_setting) > 1 if not own else accuracy is None or accuracy < cut):
        line += f"; with {right[0]}, {right[1]}"
    if own and len(own) > 1:
        line += IN_FULL + "; ".join(line_of(cell, place) for cell, place in own)
    return Measured(line, accuracy, seen=seen)


def settings_tested(
    task: Task, system: PositionSystem, ratio: float, among: Sequence[MeasuredCell] = ()
) -> dict[str, Tested]:
    """What was trained of a task with a system and tested near this ratio, by the settings that are not those asked."""
    asked, found = TASKS.show(task), dict[str, list[tuple[MeasuredCell, tuple[int, int]]]]()
    for cell in among or cells():
        alike = cell.task["name"] == asked["name"] and same_task(cell.task, asked) and trained_plainly(cell, system)
        if alike and (place := bin_of(ratio, cell)) is not None:
            own = TASKS.show(TASKS.build(dict(cell.task)))
            apart = ", ".join(f"{key}={json.dumps(value)}" for key, value in own.items() if value != asked.get(key))
            found.setdefault(apart, []).append((cell, place))
    return found  # type: ignore[return-value]


def setting_right(
    by_setting: Mapping[str, Tested], train: int, ratio: float, cut: float
) -> tuple[str, str, float] | None:
    """The setting of which all cells near this N are right, with its seeds in words and their share, the best."""
    found = list[tuple[str, str, float]]()
    for name, tested in by_setting.items():
        near = [(cell, place) for cell, place in tested if trained_near(cell, train)]
        if near and all((cell.accuracy(*place) or 0.0) >= cut for cell, place in near):
            seeds = [seed for cell, place in near for seed in seeds_right(cell, place, cut)]
            studies = ", ".join(sorted({cell.study for cell, _ in near}))
            record = f"{sum(seeds)} of {len(seeds)} seeds were right {near_ratio(ratio)} ({studies})"
            found.append((name, record, sum(seeds) / len(seeds)))
    return max(found, key=lambda each: each[2], default=None)


def never_fitted(task: Task, system: PositionSystem, train: int) -> Measured:
    """The run nearest to this N that was not right on its training lengths, so that none longer was tested.

    It answers where it is of this very task, and near this N; without a line there is none.
    """
    setting = TASKS.show(task)
    found = [c for c in cells() if not c.fit and trained_plainly(c, system) and same_task(c.task, setting)]
    own = [cell for cell in found if TASKS.build(dict(cell.task)) == task]
    if not found:
        return Measured("", None)
    cell = min(own or found, key=lambda cell: abs(math.log(cell.train / train)))
    fit = f"{sum(cell.fitted)} of {len(cell.seeds)} seeds fit{trained_with(cell)}"
    line = f"trained to {cell.train}: {NOT_FITTED} ({fit})"
    if not own:
        return Measured(f"with other settings of the task, {line}", None)
    return Measured(line, 0.0 if trained_near(cell, train) else None, seen=NOT_FITTED)


@cache
def others_measured(system: PositionSystem, ratio: float, theory: str = "") -> dict[str, list[float]]:
    """For each task that was trained with a system, its accuracy near this ratio in each setting.

    With ``theory`` (`Verdict.short`) only tasks of which theory says this under the system.
    """
    by_task: dict[str, list[float]] = {}
    for cell in cells():
        if cell.format != "answer" or not trained_plainly(cell, system):
            continue
        if theory in ("", cell.theory.get(system.known_as)) and (place := bin_of(ratio, cell)) is not None:
            by_task.setdefault(name_in_full(cell.task), []).append(cell.accuracy(*place) or 0.0)
    return dict(sorted(by_task.items()))


def name_in_full(task: Mapping[str, Any]) -> str:
    """The name of a task with the settings that make it another task, in brackets."""
    name, *more = task_identity(task).items()
    settings = ", ".join(
        key if value is True else f"{key} {shortened(str(value), 20)}" for key, value in more if value is not False
    )
    return f"{name[1]} ({settings})" if settings else str(name[1])


@cache
def others_by_name(system: PositionSystem, ratio: float, cut: float, theory: str = "") -> dict[str, bool]:
    """For each of `others_measured`, whether it was right by its median setting."""
    found = others_measured(system, ratio, theory)
    return {name: statistics.median(settings) >= cut for name, settings in found.items()}


@cache
def left_out(system: PositionSystem, ratio: float, theory: str) -> tuple[str, ...]:
    """The tasks that `others_measured` does not count: none of their settings fit, or was tested near this ratio."""
    trained = (cell for cell in cells() if cell.format == "answer" and trained_plainly(cell, system))
    every = {name_in_full(cell.task) for cell in trained if cell.theory.get(system.known_as) == theory}
    return tuple(sorted(every - others_measured(system, ratio, theory).keys()))


def traced_cells(ratio: float) -> Iterator[tuple[MeasuredCell, tuple[int, int]]]:
    """Tasks that were trained with the states of their machine under predicted ids, with the tests near this ratio."""
    for cell in others(SCRATCHPAD_SYSTEM.scheme):
        place = bin_of(ratio, cell)
        if cell.task.get("trace") == "states" and trained_plainly(cell, SCRATCHPAD_SYSTEM) and place is not None:
            yield cell, place


def scratchpads(ratio: float, cut: float) -> dict[str, bool]:
    """The tasks that were trained with a scratchpad under predicted ids, and whether each was right near this ratio."""
    found = others_by_name(SCRATCHPAD_SYSTEM, ratio, cut)
    written = {name: right for name, right in found.items() if "scratchpad" in name}
    for cell, place in traced_cells(ratio):
        of = cell.task["task"]
        name = f"{shortened(str(of.get('language', of['name'])), 20)} with its states"
        name += f" {len(written) + 1}" * (name in written)
        written[name] = (cell.accuracy(*place) or 0.0) >= cut
    return written


def of_kind(dfa: Dfa, format: Format, system: PositionSystem) -> str:
    """The other languages of a language's kind, in words; windows and periods are told apart."""
    kind = features.kind(dfa, format, system.encoding)
    if kind != "by windows or periods" or system.fragment is None:
        return OF_KIND[kind]
    found = programs.verdict(dfa, format, system.fragment)
    return OF_NEEDS[(found.window or 1) > 1, (found.period or 1) > 1]


def measured_language(
    dfa: Dfa, format: Format, system: PositionSystem, train: int, ratio: float, cut: float
) -> Measured:
    """What was measured of this language; if it was not, how often languages with the same answer were right."""
    if system.scheme == "modulo":
        return measured_modulo(dfa, format, train, ratio, cut)[0]
    tested = [
        (cell, other, place)
        for cell in cells()
        if cell.format == format and trained_plainly(cell, system)
        if (other := features.language_of(cell.task)) and (place := bin_of(ratio, cell))
    ]
    own = [(cell, first_fall(cell, place, cut)) for cell, other, place in tested if other == dfa]
    kind, needs = features.kind(dfa, format, system.encoding), of_kind(dfa, format, system)
    alike: dict[str, dict[str, bool]] = {}
    for cell, other, place in tested:
        if cell.rung is not None and other != dfa and features.kind(other, format, system.encoding) == kind:
            same = alike.setdefault(of_kind(other, format, system), {})
            same[str(cell.task["language"])] = (cell.accuracy(*place) or 0.0) >= cut
    if needs in alike:  # Of languages that need something else the same is known.
        alike = {needs: alike[needs]}
    counts = sum(sum(found.values()) for found in alike.values()), sum(map(len, alike.values()))
    near = [one for one in own if trained_near(one[0], train)]
    elsewhere = ""
    if own:
        cell, place = min(near or own, key=lambda one: abs(math.log(one[0].train / train)))
        shares = [each.accuracy(*there) or 0.0 for each, there in near or own]
        line = OWN_LANGUAGE + line_of(cell, place)
        if near and agreeing(shares, cut):
            return Measured(line, cell.accuracy(*place) or 0.0, counts, hard=cell.has_hard_words(*place))
        mixed = f"; in {len(shares)} settings from {min(shares):.2f} to {max(shares):.2f}" * (not agreeing(shares, cut))
        elsewhere = f"{line}{mixed}" + f"{TOO_FAR} {train}" * (not near)
        if near:
            return Measured(elsewhere, None, counts)
        elsewhere += "; "
    if not counts[1]:
        none = f"no {SIMILAR} language was trained with {words(system)}"
        return Measured(elsewhere + none * any(cell.rung is not None for cell, _, _ in tested), None)
    said = ", and ".join(f"{sum(found.values())} of {len(found)} {of}" for of, found in alike.items())
    line = f"{elsewhere}{said} were right with {words(system)} {near_ratio(ratio)}"
    named = exceptions(*alike.values())[2:-1] if len(alike) == 1 else ""
    return Measured(line + f"; {named}" * bool(named), None, counts)


@cache
def of_all_positions(needs: str, format: Format, ratio: float, cut: float) -> tuple[int, int]:
    """Of the languages of a kind (`of_kind`), each counted under every system with a forecast, how many were right."""
    found = dict[tuple[PositionSystem, str], bool]()
    for cell in cells():
        system = next((one for one in SYSTEMS if trained_plainly(cell, one) and one.scheme != "modulo"), None)
        if system is None or cell.rung is None or cell.format != format or (place := bin_of(ratio, cell)) is None:
            continue
        dfa = features.language_of(cell.task)
        if dfa is not None and of_kind(dfa, format, system) == needs:
            found[system, str(cell.task["language"])] = (cell.accuracy(*place) or 0.0) >= cut
    return sum(found.values()), len(found)


def measured_modulo(dfa: Dfa, format: Format, train: int, ratio: float, cut: float) -> tuple[Measured, bool, float]:
    """How languages that, like this one, need or don't need a count beside their period came out under ids modulo m.

    And whether that speaks for such ids: most of them were right, and this one, too, if it was measured. And the share
    that was right, of its own seeds if it was.
    """
    m = programs.period(dfa, format)
    counts = not no_counting(with_residues(dfa, m))
    alike: dict[str, list[bool]] = {}
    others: dict[str, list[bool]] = {}
    periods: set[int] = set()
    own: tuple[list[bool], float | None, MeasuredCell] | None = None
    for cell in cells():
        plainly = trained_plainly(cell, KNOWN["modulo"]) and cell.format == format
        other = features.language_of(cell.task) if plainly else None
        place = None if other is None else bin_of(ratio, cell)
        if place is None or other is None:
            continue
        seeds = seeds_right(cell, place, cut)
        trained = cell.settings["scheme"]["m"]
        same = counts != no_counting(with_residues(other, trained))
        (alike if same else others)[str(cell.task["language"])] = seeds
        periods |= {trained} if same else set()
        if other == dfa:
            near = (cell.accuracy(*place) or 0.0) if trained_near(cell, train) else None
            own = seeds, near, cell
    if not alike:
        return Measured("", None), False, 0.0
    names, seeds = {name: all(each) for name, each in alike.items()}, [s for each in alike.values() for s in each]
    held, these = sum(names.values()), f"these are {', '.join(names)}"
    right, needed = sum(all(each) for each in others.values()), "a" if counts else "no"
    if m > 1:
        line = (
            f"{held} of {len(alike)} {SIMILAR} languages ({needed} count is needed once the position modulo "
            f"{spoken([*map(str, sorted(periods))], 'or')} is known) were right {near_ratio(ratio)}; "
            f"{sum(seeds)} of {len(seeds)} seeds of the {SIMILAR} ones; {exceptions(names)[2:-1] or these}"
        )
        lost = [name for name, each in others.items() if not all(each)]
        even = "no count is needed then" if counts else "a count is needed even then"
        line += f"; these are not {SIMILAR}, since {even}, and not right: {', '.join(lost)}" * bool(lost)
    else:
        of = len(alike) + len(others)
        line = f"{held + right} of {of} languages were right {near_ratio(ratio)}, none known to be like this one"
    speaks = 2 * held > len(alike)
    if own is not None:
        far = f"{TOO_FAR} {train}" * (own[1] is None)
        seen = f"was right {near_ratio(ratio)} in {sum(own[0])} of {len(own[0])} seeds{trained_with(own[2])}{far}"
        line = f"{OWN_LANGUAGE}trained to {own[2].train}, {seen}; {line}"
        speaks &= 2 * sum(own[0]) > len(own[0])
    rate = held / len(alike) if own is None else sum(own[0]) / len(own[0])
    return Measured(line, None if own is None else own[1], (held, len(alike)) if m > 1 else (0, 0)), speaks, rate


def with_residues(dfa: Dfa, m: int) -> Dfa:
    """The language over symbols that say their position modulo m, which is what a model reads under ids modulo m."""
    sink = dfa.size * m
    symbols = [(symbol, r) for symbol in range(len(dfa.alphabet)) for r in range(m)]
    delta = [
        tuple(dfa.delta[state][symbol] * m + (place + 1) % m if r == place else sink for symbol, r in symbols)
        for state in range(dfa.size)
        for place in range(m)
    ]
    names = tuple(f"{r}:{dfa.alphabet[symbol]}" for symbol, r in symbols)
    accepting = tuple(accepts for accepts in dfa.accepting for _ in range(m))
    return minimize(Dfa(names, (*delta, (sink,) * len(symbols)), (*accepting, False)))
