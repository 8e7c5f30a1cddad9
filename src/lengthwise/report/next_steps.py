"""What to do after a comparison: the step that tells most, with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from json import dumps
from math import ceil
from typing import Any

from lengthwise.core.rank import seed_far
from lengthwise.core.table import rounded
from lengthwise.report.control import PLAIN, beyond_reach, is_control
from lengthwise.report.finding import in_groups, leader
from lengthwise.report.longer import has_few_steps, train_longer, train_on_longer
from lengthwise.report.summary import (
    WRONG,
    Setting,
    SystemSummary,
    called,
    differing_settings,
    explain_command,
    fall,
    hardest,
    most_lost,
    other_settings,
    predict_command,
    some_of,
    stands_for,
    step_text,
)
from lengthwise.report.words import setting_text, weight

STEPS: Setting = ("training", "", "steps")
ALONE = ("task", "steps", "max_length")
"""What are arguments of their own."""
MOST_LOST = 2
"""Systems with seeds that did not fit that are named; of more it says how many they are."""
LONG = 60
"""Letters of settings from which on the commands alone have them."""
EQUAL = "models and training are equal"
"""What the step says that takes other differences than positions away."""
UNFITTED = "; what did not fit may with more steps (all alike, {}), or tuned alone (lengthwise compare)"
"""What may make systems fit that did not, beside others that did."""
CAN, LEAST = "then the difference can be significant", "with fewer none can be significant"
"""What more seeds are for, and of the least number that can do."""


def next_step(
    order: Sequence[SystemSummary],
    fails: SystemSummary | None,
    control: str,
    seeds: Sequence[tuple[SystemSummary, int]],
    pair: Sequence[SystemSummary],
    differ: bool,
    least: bool,
) -> str:
    """What to do next with systems that are compared with each other, as a line, and commands behind it.

    That is longer strings where a seed of the best fails and no measured task was trained to so short ones, then more
    steps where nothing is left to compare, or where a system fits in a part of its seeds, at most half, then, where not
    even the best goes beyond training, what may instead of what ``fails``, unless that was trained, too, then the
    ``control``, settings that should be equal in the ``pair``, more ``seeds`` of systems that ``differ`` in every seed,
    why the best falls, seeds of others, and longer tests.
    ``least``: with fewer seeds no difference can be significant.
    """
    lost, fitted = _lost(order), [one for one in order if one.fitted]
    if fitted and not in_groups(order).best and (step := train_on_longer(order, lost)):
        return step
    longer = _longer(order, lost)
    if longer and len(fitted) < min(2, len(order)):
        return longer
    if in_part := _longer(order, [one for one in lost if one.fitted]):
        return in_part
    if any("encoding.window" in one.flat and one.positions.scheme not in PLAIN for one in order):
        fails = None  # nothing likelier is known than attention to near ids
    if fails is not None and not any(fails is one for one in in_groups(order).far):
        return longer or _likelier(fails)
    if control:
        return control
    if not differ and all(one in in_groups(order).best for one in pair):
        pair, seeds = pair[:1], ()  # more seeds of what is right at all tests tell no difference
    if equal := _equal(order, pair, max((n for _, n in seeds), default=0)):
        return equal
    first = next(iter(pair), order[0])
    few = [one for one, n in seeds if len(one.fitted) < n]
    plain = first.positions.scheme not in PLAIN and not beyond_reach(first)
    needed = [one for one in order if one in few or (plain and not one.fitted and is_control(one, first))]
    unfit = bool(longer) and any(map(most_lost, needed))
    if not (few and differ and not unfit):
        if fails is not None:
            return _likelier(fails)
        if see := explain_step(leader(order)):
            return see
    if unfit:
        return longer
    if few:
        runs = max(ceil(n * len(one.results) / len(one.fitted)) for one, n in seeds if one in few)
        of = "each system" if len(few) == len(order) > 2 else some_of([one.label for one in few])
        fit = max(n for one, n in seeds if one in few)
        tells = f"about {fit} fit then, which can be significant" if runs > fit else LEAST if least else CAN
        return step_text(f"train {of} to {runs} seeds", tells, [(one, ()) for one in few], seeds=runs)
    end = max((cell.length for cell in first.cells), default=0)
    if end > first.max_length and not fall(first):
        short = [one for one in first.fitted if seed_far(one, 0)[0] < end]
        twice = 2 * first.experiment["training"]["steps"]
        if short:
            are = "is" if len(short) == 1 else "are"
            tells = f"{len(short)} of {len(first.fitted)} seeds of {first.label} {are} not right up to {end}"
            words = ("--set", f"training.steps={twice}")
            return step_text("see whether twice the steps do", tells, [(first, words)], steps=2)
        return _longer_tests(first, end)
    return longer


def _longer_tests(first: SystemSummary, end: int) -> str:
    """How to test at up to twice the longest length, if the task has such strings."""
    task = first.known_task
    top = None if task is None else task.max_length()
    if task is not None and top is not None and top <= end:
        return f"{task.name} has no strings longer than {end}{task.lifted(2 * end)}"
    to = f"`test_lengths` up to {2 * end if top is None else min(2 * end, top)} and an `out` of their own"
    return f"to test longer than {end}, train all anew with {to}: there are as many ids as the longest test needs"


def also_unfitted(step: str, order: Sequence[SystemSummary]) -> str:
    """The step, and what may make those fit that did not beside others, where it does not train them for longer."""
    lost = [
        one for one in order
        if not stands_for(one, order).fitted and not (one.positions.scheme in PLAIN and beyond_reach(one))
    ]  # fmt: skip
    head, *commands = step.split("\n")
    anew = re.search(r"for [\d,]+ steps", head) or not any(one.fitted for one in order)
    if not step or not lost or anew:
        return step
    more = f"training.steps={2 * max(one.experiment['training']['steps'] for one in lost)}"
    return "\n".join([head + UNFITTED.format(more), *commands])


def _equal(order: Sequence[SystemSummary], who: Sequence[SystemSummary], wanted: int) -> str:
    """How to make settings of these equal, with so many seeds at least; empty where they are."""
    every = confounds(*who) if len(who) == 2 else {}
    settings = [one for one in every if one[0] != "task"]  # tasks that are compared are to differ
    positions = len({system.positions for system in who}) > 1
    alone = [*every][:1] if len(every) > 1 and not positions else []
    tried = [one for one in order if one.results[0].system in {of.results[0].system for of in who}]
    same = _values(tried, [one for one in settings if one not in alone] if positions or alone else [])
    if not same:
        return ""
    equal = f"they differ in {setting_text(f'{alone[0][0]}.{alone[0][2]}')} alone" if alone else EQUAL
    there = [one.label for one in order if one.positions in {of.positions for of in who} and _has(one, same)]
    if len({one.positions for one in order if one.label in there}) == 2:
        return f"show those alone of which {equal}: `.only(systems={there})`"
    first, second = ([one for one in order if one.fitted and one.positions == of.positions] for of in who)
    if any(not confounds(one, of) for one in first for of in second):  # told already, with other settings
        return ""
    words = [word for (part, _, name), value in same.items() for word in ("--set", f"{part}.{name}={dumps(value)}")]
    lack, each = (
        [one for one in who if not _has(one, same)] or list(who),
        max(wanted, *(len(one.results) for one in who)),
    )
    values, commands = _as_arguments(same), who[0].results[0].folder is not None
    values = "equal settings, those below" if len(values) > LONG and commands else values
    do = f"train {some_of([one.label for one in lack])} with {values}"
    return step_text(do, f"then {equal}", [(one, words) for one in lack], seeds=each)


def confounds(first: SystemSummary, second: SystemSummary) -> dict[Setting, str]:
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


def explain_step(falls: SystemSummary) -> str:
    """What explains why it falls; empty where it does not, or its weights are not there."""
    if not (command := explain_command(falls)) or (found := fall(falls)) is None:
        return ""
    cell, seed, score = found
    if len(falls.fitted) == 1:
        return f"see where {falls.label} falls, and what it gets wrong\n{command}"
    best = max(one.rate() for one in cell.scores)
    lowest = f"its lowest ({rounded(score.rate())} at {cell.length}, its best {rounded(best)})"
    return f"see what seed {seed.seed} of {falls.label} gets wrong, {lowest}\n{command}"


def _likelier(falls: SystemSummary) -> str:
    rate, length, layout = hardest(falls) or (0.0, 0, "")
    low = min((score.rate() for cell in falls.cells if cell.length == length for score in cell.scores), default=rate)
    seed = rate >= WRONG and low < rate
    right = f"{'a seed of ' * seed}{falls.label} has {rounded(low if seed else rate)} at {length}{layout}"
    others = f"see which positions other than {falls.label} are likelier to be right"
    return f"{others}, as {right}\n{predict_command(falls)}"


def _lost(order: Sequence[SystemSummary]) -> list[SystemSummary]:
    """What mostly did not fit and may with more steps: not what had many."""
    return [
        one for one in order
        if most_lost(stands_for(one, order)) and has_few_steps(one)
        and not (one.positions.scheme in PLAIN and beyond_reach(one))
    ]  # fmt: skip


def _longer(order: Sequence[SystemSummary], lost: Sequence[SystemSummary]) -> str:
    """With what to train so that what is ``lost`` may fit, and why; empty where nothing is."""
    if not lost:
        return ""
    who = some_of([one.label for one in lost]) if len(lost) <= MOST_LOST else f"{len(lost)} systems"
    nearest = max(lost, key=lambda one: one.in_distribution.median)
    tells = f"half or more of the seeds of {who} did not fit" if any(one.fitted for one in order) else "no seed fitted"
    return train_longer([nearest], lost, tells, order)


def _has(system: SystemSummary, values: Mapping[Setting, Any]) -> bool:
    return all(_value(system, part, name) == value for (part, _, name), value in values.items())


def _values(order: Sequence[SystemSummary], settings: Iterable[Setting]) -> dict[Setting, Any]:
    """The values that all these systems should have: those of the first, and the steps with which most fitted.

    Of equals these are the larger number. No value is one with which a system did not fit that did with another.
    """
    found = dict[Setting, Any]()
    for section, part, name in settings:
        if part:  # of a scheme or an encoding, which are what is compared
            continue
        tried, steps = dict[str, list[SystemSummary]](), (section, part, name) == STEPS
        for one in order:
            tried.setdefault(repr(_value(one, section, name)), []).append(one)
        ranks = {
            value: (
                -sum(
                    not one.fitted and bool(other.fitted) and repr(_value(other, section, name)) != value
                    for one in some
                    for other in [stands_for(one, order)]
                ),
                *((sum(bool(one.fitted) for one in some), _value(some[0], section, name)) if steps else ()),
            )
            for value, some in tried.items()
        }
        value = _value(tried[max(ranks, key=lambda value: ranks[value])][0], section, name)
        if not steps or len(tried) > 1:
            found[section, part, name] = False if name == "stop_when_fitted" else value
        if steps and any(one.experiment["training"].get("stop_when_fitted") for one in order):
            found["training", "", "stop_when_fitted"] = False
    return found


def _value(system: SystemSummary, section: str, name: str) -> Any:
    value: Any = system.experiment[section] if section != name else {name: system.experiment["task"]["name"]}
    for key in name.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _as_arguments(values: Mapping[Setting, Any]) -> str:
    """As arguments of `lengthwise.Experiment`, such as ``steps=600, model={"layers": 1}``."""
    alone, sections = list[str](), dict[str, list[str]]()
    for (section, _, name), value in values.items():
        written = f'"{value}"' if isinstance(value, str) else repr(value)
        if name in ALONE:
            alone.append(f"{name}={written}")
        else:
            sections.setdefault(section, []).append(f'"{name}": {written}')
    return ", ".join([*alone, *(f"{section}={{{', '.join(some)}}}" for section, some in sections.items())])
