"""Why systems fall beyond training: ids that were never trained, then the distance in ids to what is needed."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache

import numpy as np

from lengthwise.core.config import canonical_json
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.core.table import WHY
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES, scheme_with_ids
from lengthwise.prediction.predict import structure_row
from lengthwise.prediction.verdict import StructureRow
from lengthwise.report.summary import (
    MOST_COMPARED,
    RIGHT,
    WIDE_RANGE,
    WRONG,
    SystemSummary,
    chance,
    fall,
    falling,
    hardest,
    median_rates,
    some_of,
    trained_alike,
)
from lengthwise.tasks import TASKS

CAUSE = "distances in ids"
"""The beginning of the clause of what theory says of a difference."""
IN_IDS = "which differs in the ids alone"
"""What is said of a control."""
IDS = "the ids"
"""The cause where the best is surely above its control."""
AGREES = "may be the ids"
"""That where all seeds of the best are above its control, and are too few to be sure."""
NO_CAUSE = "not shown to be the ids"
"""That where the best is not surely above its control."""
UNKNOWN = "it is not known why"
"""The beginning of the clause of systems of which neither ids nor distances say why they fall."""
REMEMBERED = 4096
"""Tasks and schemes whose ids and structure are remembered."""
TRAINED = 2048
"""Strings of the longest training length whose ids stand for those of training."""
MANY = 1 << 16
"""Ids for a scheme that has too few for the lengths that are asked for."""


def why(order: Sequence[SystemSummary], tested: str = "", shown: Collection[str] = ()) -> str:
    """Why systems fall that are compared with each other and in order; empty if none falls.

    First come ids that were never trained, then distances in ids: systems whose farthest needed token is farther than
    that of the first, where none of these goes beyond training; then what is known of the fall itself. ``tested`` is
    what a control shows of the ids (`IDS`, `AGREES` or `NO_CAUSE`), and ``shown`` are the controls.
    """
    falls = [one for one in order if fall(one) and _clearly(one)]
    untrained = {id(one): says for one in falls if (says := _never_trained(one))}
    same, rest = dict[str, list[str]](), [one for one in falls if id(one) not in untrained]
    for one in falls:
        if says := untrained.get(id(one)):
            same.setdefault(says, []).append(one.label)
    parts = [f"{some_of(names)} {says}" for says, names in same.items()][:MOST_COMPARED]
    far, says = _farther(order, rest, tested) if rest else ((), "")
    parts += [says] * bool(says)
    left = [one for one in rest if one not in far]
    parts += [f"{one.label}: its ids, as the comparison shows" for one in left if one.label in shown]
    kinds = dict[str, list[str]]()
    for one in left:
        if one.label not in shown:
            kinds.setdefault(_kind_of(one), []).append(falling(one))
    parts += [f"{some_of(names)}: {says}" for says, names in kinds.items() if says]
    if names := kinds.get("", []):
        alone = len(names) == 1 and (names[0] in {one.label for one in left} or names[0].startswith("1 of "))
        parts.append(f"{UNKNOWN} {some_of(names)} fall{'s' * alone}")
    return f"{WHY}{'; '.join(parts)}" * bool(parts)


def _kind_of(system: SystemSummary) -> str:
    """Of a fall without a cause, that it is wrong in training, or at the end mark alone; empty where neither."""
    if (within := median_rates(system).get(system.max_length, 1.0)) < RIGHT:
        return f"{within:.3f} at its longest training length already"
    found = fall(system)
    if found is None or found[2].first_error.get("eos", 0) < RIGHT * max(sum(found[2].first_error.values()), 1):
        return ""
    return f"right symbols at length {found[0].length}, but it stops too early or too late"


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


def _farther(
    order: Sequence[SystemSummary], falls: Sequence[SystemSummary], tested: str
) -> tuple[Sequence[SystemSummary], str]:
    """Which of these fall as distances in ids predict, and that in words with counts; none where they explain none.

    Near are systems whose farthest needed token, at the longest length tested, is as near as that of the first, and far
    are those where it is farther than any two ids of training. Distances explain a difference where none of these is
    mostly right at its longest test. Nothing is said where the first itself is far.
    """
    first, *others = (one for one in order if one.cells)
    lengths = (first.max_length, max(cell.length for cell in first.cells))
    rows = {
        id(one): row
        for one in (first, *trained_alike(first, others), *falls)
        if one.experiment["task"]["name"] == first.experiment["task"]["name"]
        and (row := span(one, lengths)) is not None
    }
    if (ours := rows.get(id(first))) is None or ours.span[-1] > _met(first):
        return (), ""
    known = [one for one in order if id(one) in rows]
    near = [one for one in known if rows[id(one)].span[-1] <= ours.span[-1]]
    far = [one for one in known if rows[id(one)].span[-1] > max(ours.span[-1], _met(one))]
    if not any(one in falls for one in far):
        return (), ""
    right, end = [one for one in known if _holds(one)], lengths[1]
    if first not in right:
        away = _at_distances([first], rows).removeprefix("under ").replace("it is", "the farthest token needed is")
        return (), f"{CAUSE} do not suffice: {first.label} falls, too, though under {away}"
    if some := [one.label for one in far if one in right]:
        return (), f"{CAUSE} do not explain it: {some_of(some)} {'is' if len(some) == 1 else 'are'} mostly right, too"
    how = {
        IDS: "as the control shows",
        AGREES: "the control agrees, with few seeds",
        NO_CAUSE: "the control does not agree",
    }
    near_by = _at_distances(near, rows).replace("it is", "the farthest token needed is", 1)
    what = f"{CAUSE} predict which are mostly right at {end} ({how.get(tested, 'not tested')})"
    says = f"{near_by} ({_how_many(near, right)}), {_at_distances(far, rows)} ({_how_many(far, right)})"
    return [one for one in far if one in falls], f"{what}: {says}"


def _holds(system: SystemSummary) -> bool:
    """Whether it is right on at least half of the strings of its longest test, and not by chance."""
    right, length, _ = hardest(system) or (0.0, 0, "")
    guess = max(
        (chance(system, cell.length, cell.axes) or 0.0 for cell in system.cells if cell.length == length), default=0.0
    )
    return right >= WRONG and right > guess + WIDE_RANGE * bool(guess)


def _at_distances(systems: Sequence[SystemSummary], rows: Mapping[int, StructureRow]) -> str:
    """How far away the farthest token needed is, under which ids."""
    schemes = dict[str, dict[str, None]]()
    for one in systems:
        schemes.setdefault(_span_text(rows[id(one)]), {})[one.positions.scheme] = None
    return ", ".join(f"under {some_of([*under])} ids it is {away}" for away, under in schemes.items())


def _how_many(systems: Sequence[SystemSummary], right: Sequence[SystemSummary]) -> str:
    """How many of these are right."""
    count, of = sum(one in right for one in systems), len(systems)
    if of == 1:
        return f"{systems[0].label} is{'' if count else ' not'}"
    if 0 < count < of:
        return f"{count} of {of} {'is' if count == 1 else 'are'}"
    return f"{'both' if of == 2 else f'all {of}'} are" if count else f"none of {of} is"


def same_task(one: SystemSummary, other: SystemSummary) -> bool:
    """Whether two systems learn one task with the same settings."""
    return canonical_json(one.experiment["task"]) == canonical_json(other.experiment["task"])


def span(system: SystemSummary, lengths: tuple[int, ...]) -> StructureRow | None:
    """The structure of the system's task under its ids at these lengths; None where it is unknown."""
    if system.known_task is None:
        return None
    return _structure(canonical_json(system.experiment["task"]), canonical_json(system.experiment["scheme"]), lengths)


def plain_span(system: SystemSummary) -> int:
    """How far back the farthest token needed is under plain ids at the longest training length; 0 where unknown."""
    if system.known_task is None:
        return 0
    row = _structure(canonical_json(system.experiment["task"]), '{"name":"sequential"}', (system.max_length,))
    return 0 if row is None else max(row.span)


def _met(system: SystemSummary) -> int:
    """How far two ids of a training string are from each other, at most."""
    return _met_of(*(canonical_json(system.experiment[part]) for part in ("task", "scheme")), system.max_length)


@lru_cache(maxsize=REMEMBERED)
def _met_of(task: str, scheme: str, trained: int) -> int:
    with suppress(LengthwiseError):
        built, ids, rng = TASKS.build(json.loads(task)), SCHEMES.build(json.loads(scheme)), stream(0, "why", "met")
        given = ids.assign(built.batch(trained, TRAINED, rng).places, built.levels, rng)
        return int((given.max(axis=(1, 2)) - given.min(axis=(1, 2))).max())
    return 0


def _span_text(row: StructureRow) -> str:
    """The ids to the farthest token needed: where it grows, in training and at the longest length."""
    low, high, last = row.span[0], row.span[-1], row.lengths[-1]
    same = low == high and len(row.lengths) > 1
    return f"{low} away" if same else f"up to {high} away at length {last}, {low} in training"


@lru_cache(maxsize=REMEMBERED)
def _structure(task: str, scheme: str, lengths: tuple[int, ...]) -> StructureRow | None:
    with suppress(LengthwiseError):
        built, own = TASKS.build(json.loads(task)), SCHEMES.build(json.loads(scheme))
        with suppress(LengthwiseError):
            return structure_row(built, own, lengths)
        return structure_row(built, scheme_with_ids(own.name, MANY), lengths)
    return None
