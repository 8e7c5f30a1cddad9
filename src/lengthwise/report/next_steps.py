"""What to do after a comparison: each step with its reason, the first the one that tells most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from json import dumps
from math import ceil
from typing import Any

from lengthwise.core.rank import seed_far
from lengthwise.core.table import rounded
from lengthwise.report.control import MANY_STEPS, PLAIN, Control, beyond_reach, is_control
from lengthwise.report.finding import in_groups, leader
from lengthwise.report.summary import (
    MOST_NAMED,
    WRONG,
    Setting,
    SystemSummary,
    differ_text,
    explain_command,
    fall,
    hardest,
    predict_command,
    run_commands,
    some_of,
    stands_for,
)
from lengthwise.report.words import setting_text, value_text

STEPS: Setting = ("training", "", "steps")
LAYERS: Setting = ("model", "", "layers")
ALONE = ("task", "steps", "max_length")
"""What are arguments of their own."""
FAR_FROM_FIT = 0.5
"""Accuracy at training lengths below which steps alone may never do."""

MOST_LOST = 2
"""Systems with seeds that did not fit that are named; of more it says how many they are."""
EQUAL = "so that models and training are equal"
"""The beginning of the step that takes other differences than positions away."""

Confounds = tuple[Sequence[SystemSummary], Sequence[Setting]]
"""Systems, and the settings in which they differ besides positions."""
MoreSeeds = tuple[Sequence[tuple[SystemSummary, int]], str]
"""Systems, with how many seeds of each tests need, and why; empty where there are enough."""


def next_steps(
    order: Sequence[SystemSummary], fails: SystemSummary | None, control: Control, seeds: MoreSeeds,
    confounds: Confounds, aside: str = "",
) -> list[str]:  # fmt: skip
    """What to do next with systems that are compared with each other, as lines: the first is the one to take.

    First comes what did not fit where nothing is left to compare, then the ``control``, then, where not even the best
    goes beyond training, why it ``fails``, settings that should be equal, why a better one fails at last, and more
    seeds. A later step goes on with the settings of the earlier ones, or is left out. What is said ``aside`` is why
    equal settings or seeds are of others.
    """
    said, longer = list[str](), _longer(order)
    fitted, anew = [one for one in order if one.fitted], control.anew
    if longer and len(fitted) < min(2, len(order)):
        said, anew = [longer], True
    said += [control.step] * bool(control.step)
    falls = fails or next((one for one in order if fall(one)), None)
    about = [] if falls is None else _about(falls, fails)
    if fails is not None and not any(fails is one for one in in_groups(order).far):
        said += about
    wanted, reason = seeds
    most = max((n for _, n in wanted), default=0)
    equal, trained = ("", list[SystemSummary]()) if anew else _equal(order, confounds, most, control, aside)
    said += [equal] * bool(equal)
    if about and falls is (fails or leader(order)):
        said += [line for line in about if line not in said]
    few = [one for one, n in wanted if len(one.fitted) < n]
    first = next(iter(confounds[0]), order[0])
    plain = first.positions.scheme not in PLAIN and not beyond_reach(first)
    needed = [one for one in order if one in few or (plain and not one.fitted and is_control(one, first))]
    if longer and not (anew or equal) and any(2 * len(one.fitted) <= len(one.results) for one in needed):
        said, anew = [*said, longer], True
    trained += confounds[0][: control.step.startswith("train")]
    few = [one for one in few if not any(one is other for other in trained)]
    if few and not anew:
        runs = max(ceil(n * len(one.results) / len(one.fitted)) for one, n in wanted if one in few)
        of = "each system" if len(few) == len(order) else some_of([one.label for one in few])
        lost = f", and {most} of {runs} may fit" * (runs > most)
        again = run_commands([(one, ()) for one in few], seeds=runs)
        tasks = some_of([setting_text(f"task.{name}") for part, _, name in confounds[1] if part == "task"])
        pair = [one for one, _ in wanted]
        differ = differ_text(pair) or f"besides positions, systems differ in {tasks}" * (
            bool(tasks) and len({one.positions for one in pair}) > 1
        )
        unlike = f"; {differ}" * (bool(differ) and not equal)
        said.append(f"train {of} to {runs} seeds: {reason}{lost}{unlike}{aside}{again}")
    end = max((cell.length for cell in first.cells), default=0)
    if not said and end > first.max_length and not fall(first):
        short = [one for one in first.fitted if seed_far(one, 0)[0] < end]
        are = "is" if len(short) == 1 else "are"
        some = f"{len(short)} of {len(first.fitted)} seeds of {first.label}"
        longer_tests = f"test longer strings: {first.label} is right at {end}, the longest tested"
        twice = 2 * first.experiment["training"]["steps"]
        command = run_commands([(first, ("--set", f"training.steps={twice}"))], steps=2)
        more_steps = f"see whether twice the steps do: {some} {are} not right up to {end}{command}"
        said.append(more_steps if short else longer_tests)
    said += [line for line in about if line not in said]
    more = [f"if what did not fit matters: {longer}"] * (bool(longer) and longer not in said)
    return [*(f"{'then' if at else 'next'}: {step}" for at, step in enumerate(said)), *more]


def _equal(
    order: Sequence[SystemSummary], confounds: Confounds, wanted: int, control: Control, aside: str
) -> tuple[str, list[SystemSummary]]:
    """How to make settings equal, to those of the first where a ``control`` has these, and whom this trains."""
    who, every = confounds
    settings = [one for one in every if one[0] != "task"]  # tasks that are compared are to differ
    positions = len({system.positions for system in who}) > 1
    alone = every[:1] if len(every) > 1 and not positions else []
    tried = [one for one in order if one.results[0].system in {of.results[0].system for of in who}]
    wanted_same = [one for one in settings if one not in alone] if positions or alone else []
    same = _values(tried, wanted_same)
    if control.step:
        same = {key: _value(who[0], key[0], key[2]) for key in wanted_same if not key[1]}
        if any(_value(one, *STEPS[::2]) > _value(who[0], *STEPS[::2]) for one in who[1:]):  # too few may not fit
            return "", list(who)
    if not same:
        return "", []
    equal = f"so that they differ in {setting_text(f'{alone[0][0]}.{alone[0][2]}')} alone" if alone else EQUAL
    there = [one.label for one in order if one.positions in {of.positions for of in who} and _has(one, same)]
    if len({one.positions for one in order if one.label in there}) == 2:
        return f"{equal}, show those alone: `.only(systems={there})`", list(who)
    words = [word for (part, _, name), value in same.items() for word in ("--set", f"{part}.{name}={dumps(value)}")]
    lack, each = (
        [one for one in who if not _has(one, same)] or list(who),
        max(wanted, *(len(one.results) for one in who)),
    )
    with_same = f"train {some_of([one.label for one in lack])} with {_as_arguments(same)}"
    stays = [f"{setting_text(f'{part}.{name}')} of {value_text(of)}" for part, of, name in settings if of]
    with_same += f"; {some_of(stays)} still differ{'s' * (len(stays) == 1)}" * bool(stays)
    return f"{equal}, {with_same}{aside}{run_commands([(one, words) for one in lack], seeds=each)}", lack


def _about(falls: SystemSummary, fails: SystemSummary | None) -> list[str]:
    rate, length, layout = hardest(falls) or (0.0, 0, "")
    low = min((score.rate() for cell in falls.cells if cell.length == length for score in cell.scores), default=rate)
    seed = rate >= WRONG and low < rate
    right = f"{'a seed of ' * seed}{falls.label} has {rounded(low if seed else rate)} at {length}{layout}"
    said = f"see which other positions are likelier to be right there, as {right}: {predict_command(falls)}"
    command = explain_command(falls)
    return [said] * (fails is not None) + [f"see why {falls.label} falls: {command}"] * bool(command)


def _longer(order: Sequence[SystemSummary]) -> str:
    """With what to train so that what mostly did not fit may fit, and why; empty where that had many steps."""
    every = [steps for one in order if (steps := one.experiment["training"].get("steps"))]
    lost = [
        one for one in order
        if 2 * len((usual := stands_for(one, order)).fitted) <= len(usual.results)
        and (one.experiment["training"].get("steps") or MANY_STEPS) < MANY_STEPS
        and not (one.positions.scheme in PLAIN and beyond_reach(one))
    ]  # fmt: skip
    if not lost:
        return ""
    values: dict[Setting, Any] = {STEPS: max(2 * max(one.experiment["training"]["steps"] for one in lost), *every)}
    who = some_of([one.label for one in lost]) if len(lost) <= MOST_LOST else f"{len(lost)} systems"
    why = "with fewer steps"
    far = any(one.in_distribution.median < FAR_FROM_FIT for one in lost)
    if far and all(one.experiment["model"]["layers"] == 1 for one in order):
        values, why = values | {LAYERS: 2}, "with fewer steps and one layer"
    many, nearest = len(order) > MOST_NAMED, max(lost, key=lambda one: one.in_distribution.median)
    it = "all" if len(order) > 1 else "it"
    first = f", first {nearest.label}{', the nearest to fit' * (len(lost) > 1)}" * many
    words = [word for (part, _, name), to in values.items() for word in ("--set", f"{part}.{name}={dumps(to)}")]
    again = run_commands([(one, words) for one in ([nearest] if many else order)], steps=2 * len(values))
    return (
        f"train {it} with {_as_arguments(values)}{first}: half or more of the seeds of {who} did not fit {why}{again}"
    )


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
