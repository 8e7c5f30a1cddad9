"""What tells, among the strings of a kind, those that fail: a kind is often wider than what fails."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy import ndarray

from lengthwise.core.batch import Batch
from lengthwise.explanation.features import DUE, LEAST, WHERE, Feature, either
from lengthwise.explanation.mistakes import facts_of, places_of
from lengthwise.tasks import Task

TELLS, CLOSE = 0.9, 0.02
"""At least so many failing strings have it, and right ones lack it; simpler words may tell so much less."""
HAS = "the answer has "
Strings = Sequence[tuple[Batch, ndarray]]
"""Batches, and which of their strings are right."""


def narrower(task: Task, known: Strings, fresh: Callable[[], Strings]) -> Feature | None:
    """What nearly all failing strings have and nearly all right ones lack, or the other way round; None without one.

    Tried are the kinds that the task names, and what holds of a token of the answer: of any, or of one at its ends. It
    is chosen on ``known`` strings, and has to tell as much of ``fresh`` ones, which are counted.
    """
    fails, found = _fails(known), list[tuple[float, int, bool, int, str]]()
    if min(fails.sum(), (~fails).sum()) < LEAST:
        return None
    for (rank, name), holds in _candidates(task, known).items():
        for unless in (False, True):
            score = min((holds[fails] != unless).mean(), (holds[~fails] == unless).mean())
            if score >= TELLS:
                found.append((float(score), rank, unless, len(name), name))
    if not found:
        return None
    most = max(found)[0]
    _, rank, unless, _, name = min((each for each in found if each[0] >= most - CLOSE), key=lambda each: each[1:])
    held = fresh()
    fails, holds = _fails(held), _candidates(task, held).get((rank, name))
    if holds is None or min(fails.sum(), (~fails).sum()) < LEAST:
        return None
    told = Feature(
        f"{'unless' if unless else 'if'} {name}", int(fails.sum()), int((holds[fails] != unless).sum()),
        int((~fails).sum()), int((holds[~fails] == unless).sum()),
    )  # fmt: skip
    return told if min(told.failing_told / told.failing, told.right_told / told.right) >= TELLS else None


def _fails(strings: Strings) -> ndarray:
    return ~np.concatenate([good for _, good in strings])


def _candidates(task: Task, strings: Strings) -> dict[tuple[int, str], ndarray]:
    """Of which strings each holds, by how simple it is and its words."""
    rows = [(batch, row) for batch, _ in strings for row in range(batch.size)]
    found, some = dict[tuple[int, str], ndarray](), dict[str, ndarray]()
    for index, (batch, row) in enumerate(rows):
        for rank, name, fact in _of_string(task, batch, row):
            found.setdefault((rank, name), np.zeros(len(rows), bool))[index] = True
            if fact:
                some.setdefault(fact, found[rank, name])
    unit = rows[0][0].unit
    pairs = {
        name: (one, other) for one, other in itertools.combinations(sorted(some), 2) if (name := either(one, other))
    }
    return found | {(3, _anywhere(name, unit)): some[one] | some[other] for name, (one, other) in pairs.items()}


def _of_string(task: Task, batch: Batch, row: int) -> Iterator[tuple[int, str, str]]:
    """What holds of a string: how simple it is, in words, and the fact of a token of its answer, whichever that is."""
    prompt = batch.text(row)[: batch.prompt_length]
    yield from ((0, kind, "") for kind in task.kinds if task.of_kind(kind, prompt))
    for at in np.flatnonzero(batch.scored).tolist():
        for fact in facts_of(task, batch, row, at):
            rank = 1 + (fact not in task.details)
            yield rank, _anywhere(fact, batch.unit), fact
            yield from ((rank, _there(fact, place), "") for place in places_of(batch, row, at) if place[:4] == "the ")


def _anywhere(fact: str, unit: str) -> str:
    """That some token of the answer has it."""
    due = fact.removeprefix(WHERE).removesuffix(DUE)
    return HAS + (due if fact == f"{WHERE}{due}{DUE}" else f"a {unit} {fact}")


def _there(fact: str, place: str) -> str:
    """That the token at a place of the answer has it."""
    what = fact.removeprefix(WHERE)
    if what == fact:
        return f"{place} is {fact}"
    return f"{place} is {what.removesuffix(DUE)}" if what.endswith(DUE) else f"{what} at {place}"
