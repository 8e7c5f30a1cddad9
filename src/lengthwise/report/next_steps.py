"""What to do after a comparison: each step with its reason, the first the one that tells most."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from lengthwise.report.summary import Setting, SystemSummary, explain_command, predict_command, some_of

STEPS: Setting = ("training", "", "steps")
LAYERS: Setting = ("model", "", "layers")
ALONE = ("task", "steps", "max_length")
"""What are arguments of their own."""
MANY_STEPS = 20_000
"""What did not fit after so many is not told to be trained for more."""
FAR_FROM_FIT = 0.5
"""Accuracy at training lengths below which steps alone may never do."""

MOST_LOST = 2
"""Systems with seeds that did not fit that are named; of more it says how many they are."""

MOST_SETTINGS = 2
"""Settings that a step names; more have a line of their own."""

Confounds = tuple[Sequence[SystemSummary], Collection[Setting]]
"""Systems, and the settings in which they differ besides positions."""
MoreSeeds = tuple[int, str]
"""How many seeds tests need, and why; 0 where those that there are suffice."""


def next_steps(
    order: Sequence[SystemSummary], fails: SystemSummary | None, control: str, seeds: MoreSeeds, confounds: Confounds
) -> list[str]:
    """What to do next with systems that are compared with each other, as lines: the first is the one to take.

    First comes why the best itself ``fails``, then what did not fit where nothing is left to compare it with, then
    settings that should be equal, the ``control``, what did not fit, and more seeds.
    """
    said, written = list[str](), ""
    if fails is not None:
        if command := explain_command(fails):
            said.append(f"see why {fails.label} falls: {command}")
        said.append(f"see what theory and measurements advise: {predict_command(fails)}")
    who, settings = confounds
    settings = [one for one in settings if one[0] != "task"]  # tasks that are compared are to differ
    positions = len({system.positions for system in who}) > 1
    same = _values(order, settings) if positions else {}
    longer, why = _longer(order)
    train = f"train {'all' if len(order) > 1 else 'it'} with "
    if same:
        written = _as_arguments(same | longer)
        few = len(same | longer) <= MOST_SETTINGS
        said.append(f"{train}{written if few else 'the same settings'}, so that they differ in positions alone")
        written = f"the same settings: {written}" * (not few)
    elif len(settings) > 1 and not positions:
        said.append("let systems differ in one setting alone, to see which counts")
    said += [control] * bool(control)
    if longer and not same:
        first = sum(bool(one.fitted) for one in order) < min(2, len(order))
        said.insert(0 if first else len(said), f"{train}{_as_arguments(longer)}: {why}")
    wanted, reason = seeds
    few = [one for one in order if one.fitted and len(one.fitted) < wanted]
    if few:
        # Runs that did not fit stay, so that as many more have to be asked for.
        lost = max(len(one.results) - len(one.fitted) for one in few)
        each = len(few) == sum(bool(one.fitted) for one in order)
        of = "each system" if each else some_of([one.label for one in few])
        said.append(f"train {wanted + lost} seeds of {of} (seeds={wanted + lost}): {reason}")
    return [*(f"{'then' if at else 'next'}: {step}" for at, step in enumerate(said)), *[written] * bool(written)]


def _longer(order: Sequence[SystemSummary]) -> tuple[dict[Setting, Any], str]:
    """With what to train so that what did not fit may fit, and why; nothing where that had many steps."""
    every = [steps for one in order if (steps := one.experiment["training"].get("steps"))]
    lost = [
        one for one in order
        if 2 * len((usual := stands_for(one, order)).fitted) <= len(usual.results)
        and (one.experiment["training"].get("steps") or MANY_STEPS) < MANY_STEPS
    ]  # fmt: skip
    if not lost:
        return {}, ""
    values: dict[Setting, Any] = {STEPS: max(2 * max(one.experiment["training"]["steps"] for one in lost), *every)}
    who = some_of([one.label for one in lost]) if len(lost) <= MOST_LOST else f"{len(lost)} systems"
    why = f"seeds of {who} did not fit"
    far = any(one.in_distribution.median < FAR_FROM_FIT for one in lost)
    if far and all(one.experiment["model"]["layers"] == 1 for one in order):
        return values | {LAYERS: 2}, f"{why}, and one layer may be too few"
    return values, f"{why} with fewer steps"


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


def stands_for(system: SystemSummary, among: Sequence[SystemSummary]) -> SystemSummary:
    """Of several configurations of a system the one of which most seeds fitted; of equals the system itself."""
    own = (system.contest, system.results[0].system)
    same = [system, *(one for one in among if (one.contest, one.results[0].system) == own)]
    return max(same, key=lambda one: len(one.fitted) / len(one.results))


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
