"""Why systems fall beyond training: ids that were never trained; how far back, in ids, what is needed stands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache

import numpy as np

from lengthwise.core.config import canonical_json
from lengthwise.core.errors import LengthwiseError, listed
from lengthwise.core.rng import stream
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES, PositionScheme, scheme_with_ids
from lengthwise.positions.structure import spans
from lengthwise.report.summary import RIGHT, WRONG, SystemSummary, median_rates, some_of
from lengthwise.tasks import TASKS, Task

REMEMBERED = 4096
"""Tasks and schemes whose ids and structure are remembered."""
TRAINED = 2048
"""Strings of the longest training length whose ids stand for those of training."""
MANY = 1 << 16
"""Ids for a scheme that has too few for the lengths that are asked for."""


def never_trained(systems: Sequence[SystemSummary]) -> str:
    """Of most of these that fall with ids that training did not have: who, and from where on; empty where none does."""
    found = dict[tuple[int, int], list[str]]()
    for one in systems:
        rates = {n: right for n, right in median_rates(one).items() if n > one.max_length}
        parts = (canonical_json(one.experiment[part]) for part in ("task", "scheme", "encoding"))
        known, first = _untrained(*parts, one.max_length, tuple(sorted(rates))) if one.known_task else (0, 0)
        if first and rates[first] < WRONG and all(right >= RIGHT for n, right in rates.items() if n < first):
            found.setdefault((known, first), []).append(one.label)
    if not found:
        return ""
    (known, first), names = max(found.items(), key=lambda each: len(each[1]))
    return f"{some_of(names)}: length {first} is the first with ids above {known}, which were never trained."


def distances_text(order: Sequence[SystemSummary]) -> str:
    """For the author: how far back each system needs a token where its median falls; empty where it is unknown of all.

    That is the shortest length at which fewer than half of the strings are right, or else the longest.
    """
    same = dict[str, list[str]]()
    for one in order:
        beyond = {n: right for n, right in median_rates(one).items() if n > one.max_length}
        length = min((n for n, right in beyond.items() if right < WRONG), default=max(beyond, default=0))
        if not length:
            continue
        needed, trained = needed_back(one, length), needed_back(one, one.max_length, training=True)
        if needed is not None and trained is not None:
            scheme = one.experiment["scheme"]
            drawn = "pose" in (scheme["name"], scheme.get("draw"))
            jumps = " with jumps" * (drawn and trained > (needed_back(one, one.max_length) or 0))
            had = f" (training had up to {trained}{jumps})" * (jumps != "" or not drawn)
            says = f"{needed} back at length {length}{had}"
            same.setdefault(says, []).append(one.label)
    said = [f"{listed(names)}: {says}" for says, names in same.items()]
    return f"how far back, in ids, is the farthest token that an answer needs: {'; '.join(said)}" * bool(said)


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


def needed_back(system: SystemSummary, length: int, *, training: bool = False, scheme: str = "") -> int | None:
    """How many ids back the farthest token needed is at a length, under the system's ids or those of a scheme.

    In training these are ids that training draws. None where it is unknown, and of a task without parents.
    """
    if not _uses_ids(system):
        return None
    if system.known_task is None:
        return _stored(system, scheme or str(system.experiment["scheme"]["name"]), length)
    spec = canonical_json({"name": scheme} if scheme else system.experiment["scheme"])
    return _needed(canonical_json(system.experiment["task"]), spec, length, training)


def _stored(system: SystemSummary, scheme: str, length: int) -> int | None:
    """As `needed_back`, of a user's own task, of whose structure its results hold what tests give."""
    found = None if system.task is None else system.task.structure
    if found is None or length not in found.lengths:
        return None
    return next((row.spans[found.lengths.index(length)] for row in found.rows if scheme in row.schemes), None)


def _uses_ids(system: SystemSummary) -> bool:
    name = system.experiment["encoding"]["name"]
    return name not in ENCODINGS or ENCODINGS.get(name).uses_ids


@lru_cache(maxsize=REMEMBERED)
def _needed(task: str, scheme: str, length: int, training: bool) -> int | None:
    with suppress(LengthwiseError):
        built, ids = TASKS.build(json.loads(task)), SCHEMES.build(json.loads(scheme))
        try:
            return _farthest(built, ids if training else ids.for_evaluation(), length, training)
        except LengthwiseError:
            return _farthest(built, scheme_with_ids(ids.name, MANY).for_evaluation(), length, training)
    return None


def _farthest(task: Task, ids: PositionScheme, length: int, training: bool) -> int | None:
    """How far back any generated token needs one, over strings and layouts; None of a task without parents."""
    most, rng = 0, stream(0, "why", "needed", length)
    levels = [at for at, kind in enumerate(task.levels) if kind == "position"] if ids.uses_places else [0]
    for layout in (None, *(() if training else task.test_layouts(length))):
        batch = task.batch(length, TRAINED // 4 if training else 64, rng, layout)
        if not (batch.parents >= 0).any():
            return None
        # Ids that are drawn anew at test, too, stretch all distances alike.
        same = ids.equals_places and ids.for_evaluation() == ids
        given = (batch.places if same else ids.assign(batch.places, task.levels, rng))[:, :, levels]
        most = max(most, int(spans(batch, batch.parents, given).max()))
    return most
