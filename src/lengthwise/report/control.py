"""Whether the ids of the best system are the cause: the control, which has plain ids and all else of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from json import dumps
from math import comb
from typing import Any, NamedTuple

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.table import rounded
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES
from lengthwise.positions.system import RANDOM_START
from lengthwise.report.differences import Difference, lengths_above, surely_above
from lengthwise.report.summary import (
    SystemSummary,
    ids_alone,
    in_runs,
    is_untrained,
    median_rates,
    run_commands,
    stands_for,
)
from lengthwise.report.why import needed_back


class Control(NamedTuple):
    """The step that trains a control, or shows it."""

    step: str = ""
    anew: bool = False
    """Whether it trains the system with other settings, so that its runs are of no use to later steps."""


MANY_STEPS = 20_000
"""What did not fit after so many is not told to be trained for more."""
LIKELY = 0.1
"""Chance that all seeds are above all of a control at one of the lengths, up to which ids are *likely* the cause."""
PLAIN = ("sequential", RANDOM_START)
UNTESTED = "Whether the ids make the difference is not tested"
"""The cause where nothing tests whether it is the ids."""


def is_control(one: SystemSummary, of: SystemSummary) -> bool:
    """Whether ``one`` has plain ids, of which a table met those beyond training, and all else of ``of``."""
    plain = one.positions.scheme in PLAIN and of.positions.scheme not in PLAIN
    return plain and ids_alone(one, of) and not is_untrained(one)


def is_overtaken(one: SystemSummary, among: Sequence[SystemSummary]) -> bool:
    """Whether half or more of its seeds did not fit, and more did with other settings."""
    return 2 * len(one.fitted) <= len(one.results) and stands_for(one, among) is not one


def with_controls(
    alike: Sequence[SystemSummary],
    ranked: Sequence[SystemSummary],
    apart: Callable[[SystemSummary, SystemSummary], Collection[int]],
) -> tuple[SystemSummary, list[SystemSummary]]:
    """The first of those that are as good and what differs from it in the ids alone, or else another of these.

    What differs are controls, or else others that it is above. Another is one that is above its control, or else has
    one.
    """
    every = list[tuple[SystemSummary, list[SystemSummary]]]()
    for one in alike:
        alone = [of for of in ranked if ids_alone(one, of) and not (is_untrained(of) or is_overtaken(of, ranked))]
        found = [of for of in alone if is_control(of, one)] or [of for of in alone if apart(one, of)]
        if found and (one is alike[0] or any(is_control(of, one) and apart(one, of) for of in found)):
            return one, found
        every += [(one, found)] * any(is_control(of, one) for of in found)
    return next(iter(every), (alike[0], []))


def controls_say(first: SystemSummary, control: SystemSummary, tests: Sequence[Difference]) -> tuple[str, str]:
    """Whether a control shows that the ids are the cause: where every seed of the first is above every one of it.

    Then that ids differ in two things, of which either may count; empty where that says nothing.
    """
    fitted, seeds = len(control.fitted), len(control.results)
    few = f" ({fitted} of {seeds} seeds fitted)" * (fitted < seeds)
    mine, both = len(first.fitted), f"{first.label} and its control {control.label}"
    if fitted == mine == 1:
        return f"Whether the ids make the difference is not known from one seed each of {both}{few}", ""
    tested, lengths = {test.length for test in tests}, lengths_above(tests)
    ours, theirs = median_rates(first), median_rates(control)
    most = max(lengths or tested, key=lambda length: (ours[length] - theirs[length], length))
    have = f"{mine} seeds each" if mine == fitted else f"{mine} seed{'s' * (mine > 1)} against {fitted}"
    if not lengths:
        below = lengths_above(test.turned for test in tests)
        how = f"are below at {in_runs(below, tested)}" if below else "overlap at every length"
        medians = f"medians at {most}: {rounded(ours[most])} and {rounded(theirs[most])}; {have}"
        seeds_of = f"seeds of {first.label} against its control {control.label}" if below else f"seeds of {both}"
        return f"Not shown that the ids make the difference: {seeds_of} {how} ({medians}){few}", ""
    likely = len(tested) / comb(mine + fitted, mine) <= LIKELY and 2 * fitted > seeds
    make = "The ids make" if surely_above(tests) else "The ids likely make" if likely else "A hint that the ids make"
    falls = (
        f"{first.label} has {rounded(ours[most])} at {most}, its control {control.label} {rounded(theirs[most])}{few}"
    )
    every = "all " * all(test.apart for test in tests if test.length in lengths)
    how = f"{have}, {every}above at {in_runs(lengths, tested)} ({len(lengths)} of {len(tested)} tested)"
    what = in_what(first, control)
    limit = f"Ids of {first.label} and {control.label} differ in {what}; which counts" * bool(what)
    return f"{make} the difference: {falls}; {how}", limit


def beyond_reach(system: SystemSummary) -> str:
    """Why plain ids cannot be learned with the encoding of a system, whose layers attend to near ids; else empty."""
    window, layers = system.flat.get("encoding.window"), system.flat.get("model.layers")
    needed = needed_back(system, system.max_length, scheme="sequential") or 0
    looped = system.flat.get("model.loops", 1) != 1
    if not isinstance(window, int) or not isinstance(layers, int) or looped or needed <= window * layers:
        return ""
    name = system.positions.encoding
    of = f"{layers} layer{'s' * (layers != 1)} of {name}"
    reach = f"reach{'es' * (layers == 1)} {window * layers}"
    return f"under plain ids training needs a token {needed} ids back, and {of} {reach}"


def missing_control(
    first: SystemSummary,
    second: SystemSummary,
    rivals: Sequence[SystemSummary],
    there: Sequence[SystemSummary],
    enough: int,
) -> tuple[list[str], Control]:
    """That no run is shown which tells whether the ids of ``first`` are the cause, or its encoding, and what to do.

    The control has plain ids and all else of the first; beside a table they have a random start, since the table would
    else have met no id beyond training, and fail for that.
    """
    alone = [other for other in rivals if ids_alone(first, other) and not is_overtaken(other, there)]
    if first.positions.scheme in (second.positions.scheme, *PLAIN) or any(is_control(one, first) for one in alone):
        return [], Control()
    if far := beyond_reach(first):
        return [f"No control of {first.label} can tell whether the ids make the difference: {far}"], Control()
    encoding = first.experiment["encoding"]["name"]
    table = encoding in ENCODINGS and ENCODINGS.get(encoding).has_table
    control = replace(first.positions, scheme=RANDOM_START if table else "sequential")
    tells = "it tells, if its seeds fit, whether the ids make the difference"
    names = {other.results[0].system for other in there if ids_alone(first, other)}
    found = [
        one for one in there if one.positions == control and (ids_alone(first, one) or one.results[0].system in names)
    ]
    for one in sorted(found, key=lambda one: (not one.fitted, is_overtaken(one, there), not ids_alone(first, one))):
        name = first.prefix + one.label.removeprefix(one.prefix)
        if one.fitted and not ids_alone(first, one):
            other = f"{UNTESTED}: the control {name} has other settings"
            own = (key for key in one.flat if key.startswith(("model.", "training.")))
            keys = [key for key in own if one.flat[key] != first.flat.get(key)]
            words = [word for key in keys for word in ("--set", f"{key}={dumps(one.flat[key])}")]
            own = f"train {first.label} with the settings of {name}: {tells}{run_commands([(first, words)])}"
            return [other], Control(own, anew=True)
        if one.fitted:
            pair = [of.labels[0] for of in (first, one)]
            return [f"{UNTESTED} by the systems shown"], Control(f"show the control: `.only(systems={pair})`: {tells}")
        return [f"{UNTESTED}: the control {name} did not fit"], longer_control(first, one, name)
    if ENCODINGS.is_built_in(encoding):  # its settings are those of the first, too, such as a sink
        with suppress(LengthwiseError, TypeError):
            control = replace(control, encoding=ENCODINGS.build(first.experiment["encoding"]).label)
    few, seeds = len(first.fitted) < enough, max(enough, len(first.results))
    runs = [(first, ("--scheme", control.scheme)), *[(first, ())] * few]
    commands = run_commands(runs, seeds=seeds)
    both = f", with {seeds} seeds of both" * few
    train = f"train the control {control.name}, else as {first.label}{both}: {tells}{commands}"
    if alone := [other for other in alone if is_untrained(other)]:
        beyond = f"{UNTESTED} by {alone[0].label}, whose table met no id beyond training"
        return ([beyond], Control(train)) if control.random_start else ([], Control())
    return [UNTESTED], Control(train)


def longer_control(first: SystemSummary, control: SystemSummary, name: str = "") -> Control:
    """To train a system and its control for twice the steps, where half or more of the seeds of this did not fit."""
    steps, fitted, seeds = control.experiment["training"]["steps"], len(control.fitted), len(control.results)
    if 2 * fitted > seeds or steps >= MANY_STEPS:
        return Control()
    words = ("--set", f"training.steps={2 * steps}")
    right = f"{rounded(control.in_distribution.median)} at training lengths"
    has = f"{fitted} of {seeds} seeds that fitted" if fitted else right
    both = f"train {first.label} and its control {name or control.label} for {2 * steps:,} steps: the control has {has}"
    commands = run_commands([(first, words), (control, words)], steps=2)
    tells = "and tells, if it fits, whether the ids make the difference"
    return Control(f"{both} after {steps:,}, {tells}{commands}", anew=True)


def in_what(first: SystemSummary, control: SystemSummary) -> str:
    """In which two things ids differ, where these are which tokens share one and how training draws them."""
    one, other = (system.experiment["scheme"] for system in (first, control))
    differ = _sharing(one) != _sharing(other) and _draw(one) != _draw(other)
    return "which tokens share one and how training draws them" * differ


def _sharing(scheme: Mapping[str, Any]) -> Any:
    name = scheme["name"]
    kind = SCHEMES.get(name) if SCHEMES.is_built_in(name) else None
    return name if kind is None else (kind.uses_places, kind.one_id_per_place, kind.wraps)


def _draw(scheme: Mapping[str, Any]) -> str:
    """How training draws ids, such as ``pose``: a contiguous block with any offset is a random start."""
    own = scheme["name"] if "jump" in scheme else scheme.get("draw", scheme["name"])
    drawn = "contiguous" if scheme.get("random_start") else own
    return "sequential" if scheme.get("start_at_one") and drawn in ("contiguous", "pose") else drawn
