"""Whether the ids of the best system are the cause: the control, which has plain ids and all else of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from json import dumps
from statistics import fmean

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.table import rounded
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.system import RANDOM_START
from lengthwise.report.differences import Difference, between, differences, lengths_above, surely_above
from lengthwise.report.longer import has_few_steps, train_longer
from lengthwise.report.summary import (
    MOST_COMPARED,
    RIGHT,
    SystemSummary,
    ids_alone,
    is_untrained,
    median_rates,
    most_lost,
    other_settings,
    some_of,
    stands_for,
    step_text,
    steps_of,
)
from lengthwise.report.why import needed_back

PLAIN = ("sequential", RANDOM_START)
GUESS, DO, FAR, UNTOLD = " A weak guess at how: ", " Known: ", " Under plain ids ", " How is not tested "
"""Before what the screen may have no room for: how near ids bring what is needed, where a control shows that they are
the cause, and where none is there; why none can fit; and what encodings do."""
NEARLY = 0.9
"""From which part of the largest gap on a gap between medians tells as much."""
AHEAD, MOSTLY = 0.05, 0.5
"""By so much a control goes ahead at a length; and a system that is right on fewer strings tells nothing by it."""
OWN = {"ids": "the number of ids", "encoding": "parameters of the encodings"}
"""What differs between models that differ in nothing else than this, where one has more parameters."""
UNFIT = "no control of {} can fit"
SHORT = r"[;:] |, (?![\d…])"
"""Where the first part of an encoding's summary ends."""
FOUND = "The ids make", "Probably the ids"
"""How it begins where a control shows it, or hints at it."""
TELLS = "if all fit, they can tell whether the ids of {} help"
FIRST, IS_HINT, FITS = "; one seed of the control ", "is a hint", "shows whether it fits"
"""The cheapest step to that: one seed of it, beside several of what it is the control of, or beside one."""


def is_control(one: SystemSummary, of: SystemSummary) -> bool:
    """Whether ``one`` has plain ids, of which a table met those beyond training, and all else of ``of``."""
    plain = one.positions.scheme in PLAIN and of.positions.scheme not in PLAIN
    return plain and ids_alone(one, of) and not is_untrained(one)


def is_overtaken(one: SystemSummary, among: Sequence[SystemSummary]) -> bool:
    """Whether half or more of its seeds did not fit, and more did with other settings."""
    return most_lost(one) and stands_for(one, among) is not one


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


def control_says(first: SystemSummary, control: SystemSummary, tests: Sequence[Difference]) -> str:
    """Whether a control shows that the ids are the cause: where every seed of the first is above every one of it.

    It does not where its median is ahead at another length, nor where the first is mostly wrong, too. It quotes the
    length that tells most, and guesses how.
    """
    mine, rival = len(first.fitted), len(control.fitted)
    if mine == rival == 1:
        return f"Not known from one seed each of {first.label} and its control {control.label}."
    unsaid = f"Not shown that the ids of {first.label} help: "
    above, ours, theirs = lengths_above(tests), median_rates(first), median_rates(control)
    if not above:
        return f"{unsaid}at no length is it above its control {control.label} in every seed."
    at = telling_length(first, control, tests)
    there = f"at {at} {first.label} has {rounded(ours[at])}, {control.label} {rounded(theirs[at])}"
    ahead = max({test.length for test in tests}, key=lambda length: (theirs[length] - ours[length], length))
    if theirs[ahead] - ours[ahead] >= AHEAD:
        other = f"at {ahead} {rounded(ours[ahead])} and {rounded(theirs[ahead])}"
        return f"{unsaid}{there}, but {other}."
    if ours[at] < MOSTLY:
        return f"{unsaid}{there}, both mostly wrong."
    if theirs.get(control.max_length, 1.0) < RIGHT:
        trained = f"{control.label} has {rounded(theirs[control.max_length])} at {control.max_length}"
        return f"{unsaid}{there}, but {trained}, a trained length, already."
    return what_differs(first, control, tests, "ids") + what_ids_do(GUESS, first, at, control)


def what_differs(first: SystemSummary, other: SystemSummary, tests: Sequence[Difference], what: str) -> str:
    """That the ids, or another setting, make the difference between two systems that are alike else, or probably do."""
    at = telling_length(first, other, tests)
    sizes = {run.parameters for run in (*first.results, *other.results)} - {None}
    but = f" but {OWN[what]}" * (len(sizes) > 1)
    ours, theirs = (rounded(median_rates(one)[at]) for one in (first, other))
    has = f"at {at} {first.label} has {ours}, {other.label} {theirs}, all else{but} equal"
    if surely_above(tests):
        makes = "make" if what == "ids" else "makes"
        return f"The {what} {makes} the difference: {has}."
    mine, rival = len(first.fitted), len(other.fitted)
    seeds = f"{mine} seeds each" if mine == rival else f"{mine} and {rival} seeds"
    return f"Probably the {what}: {has} ({seeds}: a hint)."


def telling_length(first: SystemSummary, other: SystemSummary, tests: Sequence[Difference]) -> int:
    """The longest length at which the first is above the other by nearly the largest gap of the medians."""
    ours, theirs = median_rates(first), median_rates(other)
    gaps = {length: ours[length] - theirs[length] for length in lengths_above(tests)}
    return max(gaps, key=lambda length: (gaps[length] >= NEARLY * max(gaps.values()), length))


def what_encodings_do(first: SystemSummary, other: SystemSummary) -> str:
    """What the encodings of two systems do, by their registered summaries; empty where these say no difference."""
    specs = [one.experiment["encoding"] for one in (first, other)]
    with suppress(LengthwiseError, TypeError):
        if all(ENCODINGS.is_built_in(spec["name"]) for spec in specs):
            ours, theirs = map(ENCODINGS.build, specs)
            does, did = (re.split(SHORT, one.summary)[0] for one in (ours, theirs))
            return f"{UNTOLD}({ours.label}: {does}; {theirs.label}: {did})." * (does != did)
    return ""


def what_ids_do(begin: str, first: SystemSummary, at: int, other: SystemSummary | None = None) -> str:
    """How near its ids, and those of ``other``, bring the farthest token that is needed at a length, and in training.

    Other ids are those that count tokens, by default. Empty where it is unknown, where under the others it is no
    farther than in training, and where under its own it is.
    """
    ours, scheme = first.positions.scheme, PLAIN[0] if other is None else other.positions.scheme
    plain, other = scheme in PLAIN, other or first
    of, under = ("tokens", "sequential") if plain else (f"{scheme} ids", "")
    far, had = needed_back(other, at, scheme=under), needed_back(other, other.max_length, training=True, scheme=under)
    near, known = needed_back(first, at), needed_back(first, first.max_length, training=True)
    farther = (far or 0) > (had or 0) > 0 and (near or 0) <= (known or 0)
    if ours in PLAIN or ours == scheme or not farther:
        return ""
    by_own = f", under {ours} ids at most {near}" * (near is not None)
    return f"{begin}at {at} a token needs one up to {far} {of} back ({had} in training){by_own}."


def beyond_reach(system: SystemSummary) -> str:
    """How far plain ids have to look with the encoding of a system, whose layers reach less far; else empty."""
    window, layers = system.flat.get("encoding.window"), system.flat.get("model.layers")
    needed = needed_back(system, system.max_length, scheme="sequential") or 0
    looped = system.flat.get("model.loops", 1) != 1
    if not isinstance(window, int) or not isinstance(layers, int) or looped or needed <= window * layers:
        return ""
    reach = "1 layer reaches" if layers == 1 else f"{layers} layers, {window} ids each, reach"
    return f"it has to look {needed} ids back in training, and its {reach} {window * layers}"


def missing_control(
    first: SystemSummary,
    second: SystemSummary,
    rivals: Sequence[SystemSummary],
    order: Sequence[SystemSummary],
    there: Sequence[SystemSummary],
    enough: int,
    alone: int,
) -> tuple[str, str, bool]:
    """That no run shown tells whether the ids of ``first`` are the cause, what to do, and whether in another folder.

    The control has plain ids and all else of the first; beside a table they have a random start, since the table would
    else have met no id beyond training, and fail for that. Where one needed more layers to fit, its settings are taken
    for the first. So many seeds of each are ``enough`` once one more system is tested, and so many if these have a
    folder ``alone``.
    """
    same = [other for other in rivals if ids_alone(first, other) and not is_overtaken(other, there)]
    if first.positions.scheme in (second.positions.scheme, *PLAIN) or any(is_control(one, first) for one in same):
        return "", "", False
    if far := beyond_reach(first):
        name = first.label
        return f"Whether the ids of {name} help is not tested: {UNFIT.format('it')}.{FAR}{far}.", "", False
    encoding = first.experiment["encoding"]["name"]
    table = encoding in ENCODINGS and ENCODINGS.get(encoding).has_table
    control = replace(first.positions, scheme=RANDOM_START if table else "sequential")
    names = {other.results[0].system for other in there if ids_alone(first, other)}
    found = [
        one for one in there if one.positions == control
        and (ids_alone(first, one) or one.results[0].system in names or _is_deeper(one, first))
    ]  # fmt: skip
    for one in sorted(found, key=lambda one: (not one.fitted, is_overtaken(one, there), not ids_alone(first, one))):
        name = first.prefix + one.label.removeprefix(one.prefix)
        if one.fitted and not ids_alone(first, one):
            own = [of for of in there if of.positions == first.positions and ids_alone(of, one)]
            for of in sorted(own, key=lambda of: not of.fitted):
                if of.fitted:
                    return control_says(of, one, between(of, one, differences([of, one], whole=there))), "", False
                return f"Not known: with the settings of its control {name}, {of.label} did not fit.", "", False
            own = (key for key in one.flat if key.startswith(("model.", "training.")))
            keys = [key for key in own if one.flat[key] != first.flat.get(key)]
            words = [word for key in keys for word in ("--set", f"{key}={dumps(one.flat[key])}")]
            slower = fmean(run.seconds or 0.0 for run in one.results) / (
                fmean(run.seconds or 0.0 for run in first.results) or 1.0
            )
            do = f"train {first.label} with the settings of {name}"
            own = step_text(do, TELLS.format(first.label), [(first, words)], steps=slower)
            return _has_other_settings(one, first), own, False
        if one.fitted:
            pair = [of.labels[0] for of in (first, one)]
            return "Not tested by the systems shown.", f"show the control: `.only(systems={pair})`", False
        untested = f"Not tested: the control {name} of {first.label} did not fit.{_what_its_ids_do(first)}"
        lost = max((of for of in found if not of.fitted), key=steps_of)
        return untested, longer_control(first, one, lost, alone, order), True
    if ENCODINGS.is_built_in(encoding):  # its settings are those of the first, too, such as a sink
        with suppress(LengthwiseError, TypeError):
            control = replace(control, encoding=ENCODINGS.build(first.experiment["encoding"]).label)
    few, seeds = len(first.fitted) < enough, max(enough, len(first.results))
    named = replace(first, name=control.name, settings="")
    runs = [(named, ("--scheme", control.scheme)), *[(first, ())] * few]
    both = f", {seeds} seeds of both" * few
    tells = f"{TELLS.replace(' of {}', '')}{FIRST}{IS_HINT if len(first.fitted) > 1 else FITS}"
    train = step_text(f"train the control {control.name}, else as {first.label}{both}", tells, runs, seeds=seeds)
    if any(map(is_untrained, same)) and not control.random_start:
        return "", "", False
    if unlike := next((one for one in there if one.positions == control and one.contest == first.contest), None):
        return _has_other_settings(unlike, first), train, False
    return f"Not tested: none differs from {first.label} in its ids alone.{_what_its_ids_do(first)}", train, False


def _what_its_ids_do(first: SystemSummary) -> str:
    """`what_ids_do` at the longest test beyond training at which it is mostly right; empty without one."""
    far = [n for n, right in median_rates(first).items() if n > first.max_length and right >= MOSTLY]
    return what_ids_do(DO, first, max(far)) if far else ""


def _has_other_settings(one: SystemSummary, first: SystemSummary) -> str:
    """That a control of the first has other settings, so that it tells nothing of the ids."""
    also = some_of(list(other_settings((first, one)).values()), most=MOST_COMPARED)
    return f"Not tested: the control {one.label} differs from {first.label} in {also}, too; train both alike."


def _is_deeper(control: SystemSummary, first: SystemSummary) -> bool:
    """Whether a control of the same task fitted with more layers, so that with as many both can."""
    layers = [one.flat.get("model.layers", 0) for one in (control, first)]
    return bool(control.fitted) and control.contest == first.contest and layers[0] > layers[1]


def longer_control(
    first: SystemSummary, control: SystemSummary, lost: SystemSummary, enough: int, order: Sequence[SystemSummary]
) -> str:
    """To train these and their control for longer than what is ``lost``, with ``enough`` seeds.

    That is the control, or the same with more steps. Empty where most of its seeds fitted, or these were many steps.
    """
    if not most_lost(lost) or not has_few_steps(lost):
        return ""
    seeds = max(enough, len(control.results), len(first.results))
    tells = f"{TELLS.format(first.label)}{FIRST}{FITS}"
    return train_longer([first, control], [lost], tells, order, seeds)
