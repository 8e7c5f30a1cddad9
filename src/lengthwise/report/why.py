"""Why systems fall beyond training: ids that were never trained, then the distance in ids to what is needed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lengthwise.core.config import canonical_json
from lengthwise.core.errors import LengthwiseError, listed
from lengthwise.core.rng import stream
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES, scheme_with_ids
from lengthwise.positions.structure import structure
from lengthwise.report.summary import (
    MOST_COMPARED,
    RIGHT,
    WIDE_RANGE,
    WRONG,
    SystemSummary,
    chance,
    fall,
    falling,
    median_rates,
    some_of,
)
from lengthwise.report.words import setting_text, value_text
from lengthwise.tasks import TASKS

FARTHER = "needing a token farther back than in training"
"""What theory says of some that fall, or should."""
UNKNOWN = "Not known why"
"""The beginning of the clause of systems of which neither ids nor distances say why they fall."""
REMEMBERED = 4096
"""Tasks and schemes whose ids and structure are remembered."""
TRAINED = 2048
"""Strings of the longest training length whose ids stand for those of training."""
MANY = 1 << 16
"""Ids for a scheme that has too few for the lengths that are asked for."""


@dataclass(frozen=True)
class Distance:
    """How far back, in ids, a system needs a token where its median falls, or else at its longest test."""

    system: SystemSummary
    length: int
    """The shortest length beyond training at which fewer than half of the strings are right, or else the longest."""
    holds: bool
    """Whether there is no such length."""
    needed: int
    trained: int
    """The farthest in training, under the ids that training draws."""

    @property
    def far(self) -> bool:
        """Whether it is farther than in training."""
        return self.needed > self.trained

    def __str__(self) -> str:
        ids = f"{self.needed} position id{'s' * (self.needed != 1)}"
        return f"{ids} back at length {self.length}, {self.trained} in training"


def why(order: Sequence[SystemSummary]) -> list[str]:
    """Why systems fall that are compared with each other and in order, as clauses; none where none falls.

    First come ids that were never trained, then `distances` in ids, then of whom neither says why they fall.
    """
    falls = [one for one in order if fall(one) and _clearly(one)]
    untrained = {id(one): says for one in falls if (says := _never_trained(one))}
    same = dict[str, list[str]]()
    for one in falls:
        if says := untrained.get(id(one)):
            same.setdefault(says, []).append(one.label)
    said = [f"{some_of(names)} {says}" for says, names in same.items()][:MOST_COMPARED]
    rest = [one for one in falls if id(one) not in untrained]
    known = [one for one in distances(order) if id(one.system) not in untrained] if rest else []
    near, far = ([one for one in known if one.far is is_far] for is_far in (False, True))
    if lost := [one for one in far if not one.holds]:
        names, first = some_of([one.system.label for one in lost]), "the first: " * (len(lost) > 1)
        said.append(f"Fall{'s' * (len(lost) == 1)}, {FARTHER}: {names} ({first}{lost[0]})")
    farther = FARTHER if not lost else "needing one farther"
    if odd := [one.system.label for one in far if one.holds and one.system not in rest]:
        said.append(f"Mostly right, though {farther}: {some_of(odd)}")
    if (right := [one.system.label for one in near if one.holds and one.system not in rest]) and far:
        said.append(f"Mostly right, needing none farther: {some_of(right)}")
    explained = {id(one.system) for one in lost}
    if left := [one for one in rest if id(one) not in explained]:
        alone = {id(one): found for one in left if (found := _one_setting(one, order))}
        for other in dict.fromkeys(other for other, _, _ in alone.values()):
            mine = [(falling(one), *alone[id(one)][1:]) for one in left if alone.get(id(one), ("",))[0] == other]
            each = some_of([f"{name} ({setting})" for name, setting, _ in mine])
            (name, setting, values), many = mine[0], len(mine) > 1
            one = f"{name} falls and {other} does not: they differ in {setting} alone ({values})"
            said.append(f"{each} fall and {other} does not: each differs from it in one setting alone" if many else one)
        unknown = [one for one in left if id(one) not in alone]
        names = sorted((falling(one) for one in unknown), key=lambda name: name not in {one.label for one in unknown})
        one = len(names) == 1 and (names[0] == unknown[0].label or names[0].startswith("1 of "))
        none = {id(one.system) for one in near} >= {id(one) for one in unknown}
        none_farther = ", needing none farther" if far else ", needing no token farther back than in training"
        said += [f"{UNKNOWN} {some_of(names)} fall{'s' * one}{none_farther * none}"] * bool(names)
    return said


def _one_setting(system: SystemSummary, order: Sequence[SystemSummary]) -> tuple[str, str, str] | None:
    """One that does not fall and differs from the system in one setting alone, which, and both values; or None."""
    for one in order:
        if one.cells and not (fall(one) and _clearly(one)) and same_task(one, system):
            keys = {key for key in {*one.flat, *system.flat} if one.flat.get(key) != system.flat.get(key)}
            keys = {key for key in keys if not key.startswith("evaluation.")}
            if len(keys) == 1:
                (key,) = keys
                mine, other = (value_text(of.flat.get(key), key) for of in (system, one))
                return one.label, setting_text(key), f"{mine} and {other}"
    return None


def distances(order: Sequence[SystemSummary]) -> list[Distance]:
    """Those of the systems of the first one's task, where they are known."""
    found, tested = list[Distance](), [one for one in order if one.cells]
    for one in tested:
        beyond = {n: right for n, right in median_rates(one).items() if n > one.max_length}
        if not beyond or not same_name(one, tested[0]):
            continue
        low = [n for n, right in beyond.items() if right < _mostly(one, n)]
        length = min(low, default=max(beyond))
        needed, trained = needed_back(one, length), needed_back(one, one.max_length, training=True)
        if needed is not None and trained is not None:
            found.append(Distance(one, length, not low, needed, trained))
    return found


def _mostly(system: SystemSummary, length: int) -> float:
    """The accuracy from which most strings of a length are right, and not by chance."""
    guess = max((chance(system, length, cell.axes) or 0.0 for cell in system.cells if cell.length == length), default=0)
    return max(WRONG, guess + WIDE_RANGE * bool(guess))


def distances_text(order: Sequence[SystemSummary]) -> str:
    """For the author: how far back each system needs a token; empty where it is unknown of all."""
    same = dict[str, list[str]]()
    for one in distances(order):
        same.setdefault(f"{one.needed} at {one.length}, {one.trained} in training", []).append(one.system.label)
    said = [f"{says} ({listed(names)})" for says, names in same.items()]
    return f"ids back to the farthest token needed: {'; '.join(said)}" * bool(said)


def _clearly(system: SystemSummary) -> bool:
    """Whether a system that falls is clearly below the cut somewhere, in its median or in a seed."""
    rates = (score.rate() for cell in system.cells if cell.length > system.max_length for score in cell.scores)
    return min(rates, default=1.0) < RIGHT - WIDE_RANGE


def _never_trained(system: SystemSummary) -> str:
    """Where a table falls just where its ids leave those of training; empty where it falls clearly before, or not."""
    rates, end = median_rates(system), system.max_length
    if system.known_task is None:
        return ""
    parts = (canonical_json(system.experiment[part]) for part in ("task", "scheme", "encoding"))
    known, first = _untrained(*parts, end, tuple(sorted(n for n in rates if n > end)))
    before = [rates[n] for n in sorted(rates) if n < first]
    if not first or rates[first] >= WRONG or before[-1:] < [WRONG] * bool(before):
        return ""
    ids = f"where ids above {known} begin, which were never trained"
    start = min(n for n in rates if n > end and rates[n] < RIGHT)
    return f"falls from {first}, {ids}" if start == first else f"falls from {start}, and is wrong from {first}, {ids}"


@lru_cache(maxsize=REMEMBERED)
def _untrained(task: str, scheme: str, encoding: str, trained: int, lengths: tuple[int, ...]) -> tuple[int, int]:
    """The largest id that training reads from a learned table, and the first of these lengths that has a larger one."""
    specs, none = (json.loads(scheme), json.loads(encoding)), (0, 0)
    if not (SCHEMES.is_built_in(specs[0]["name"]) and ENCODINGS.is_built_in(specs[1]["name"])):
        return none
    with suppress(LengthwiseError):
        built, ids, rows = TASKS.build(json.loads(task)), SCHEMES.build(specs[0]), 8
        if not ENCODINGS.build(specs[1]).has_table:
            return none

        def largest(length: int, training: bool) -> int:
            rng, most = stream(0, "why", "ids", length), 0
            draws = [None] * rows if training else [None, *built.test_layouts(length)]
            for layout in draws:
                batch = built.batch(length, TRAINED // rows if training else rows, rng, layout)
                given = (ids if training else ids.for_evaluation()).assign(batch.places, built.levels, rng)
                levels = [at for at, kind in enumerate(ids.kinds(built.levels)) if kind == "position"]
                most = max(most, int(given[:, : int(np.flatnonzero(batch.scored)[-1]), levels].max(initial=0)))
            return most

        known = largest(trained, training=True)
        return known, next((length for length in lengths if largest(length, training=False) > known), 0)
    return none


def same_task(one: SystemSummary, other: SystemSummary) -> bool:
    """Whether two systems learn one task with the same settings."""
    return canonical_json(one.experiment["task"]) == canonical_json(other.experiment["task"])


def same_name(one: SystemSummary, other: SystemSummary) -> bool:
    """Whether two systems learn a task of one name."""
    return one.experiment["task"]["name"] == other.experiment["task"]["name"]


def needed_back(system: SystemSummary, length: int, *, training: bool = False, scheme: str = "") -> int | None:
    """How many ids back the farthest token needed is at a length, under the system's ids or those of a scheme.

    In training these are ids that training draws. None where it is unknown.
    """
    if system.known_task is None:
        return None
    spec = canonical_json({"name": scheme} if scheme else system.experiment["scheme"])
    return _needed(canonical_json(system.experiment["task"]), spec, length, training)


@lru_cache(maxsize=REMEMBERED)
def _needed(task: str, scheme: str, length: int, training: bool) -> int | None:
    with suppress(LengthwiseError):
        built, ids = TASKS.build(json.loads(task)), SCHEMES.build(json.loads(scheme))
        rng, size = stream(0, "why", "needed", length), TRAINED // 4 if training else 64
        with suppress(LengthwiseError):
            return structure(built, ids, length, rng, size=size, training=training).parents.span
        return structure(built, scheme_with_ids(ids.name, MANY), length, rng).parents.span
    return None
