"""Structure of a task as evidence: sparsity and span at several lengths, and the *yes* that follows where both stay."""

from __future__ import annotations

import numpy as np

from lengthwise.core.config import fields_of
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.positions.schemes import SCHEMES, PositionScheme
from lengthwise.positions.structure import structure_at
from lengthwise.prediction.systems import PositionSystem
from lengthwise.prediction.verdict import Argument, StructureRow
from lengthwise.tasks import Task

LENGTHS = (5, 10, 20, 40)
"""The lengths at which sparsity and span are computed; what is equal at all of them counts as constant."""
FEWEST, SPREAD = 3, 4
"""A constant span needs at least this many lengths, and this ratio of the largest to the smallest."""


def structure_row(task: Task, scheme: str | PositionScheme) -> StructureRow:
    """Sparsity and span at `LENGTHS`, or at the nearest lengths of the task.

    A scheme by its name has room for all ids. Raises `LengthwiseError` if the task has no such lengths, or a scheme too
    few ids.
    """
    built = SCHEMES.build(scheme, max_position=1 << 30) if isinstance(scheme, str) else scheme
    lengths = tuple(dict.fromkeys(nearest(task, length) for length in LENGTHS))
    found = [structure_at(task, built, length) for length in lengths]
    columns = [(s.parents, s.selectors, s.both) for s in found]
    counts = [tuple(reach.count for reach in column) for column in zip(*columns, strict=True)]
    spans = [tuple(reach.span for reach in column) for column in zip(*columns, strict=True)]
    levels = task.levels.count("position") if built.uses_places else 1
    return StructureRow(built.name, lengths, counts[0], spans[0], counts[1], spans[1], counts[2], spans[2], levels)


def nearest(task: Task, length: int) -> int:
    """The length nearest to ``length`` that has instances; raises `LengthwiseError` if there is none near it."""
    for distance in range(200):
        for candidate in (length + distance, length - distance):
            if candidate >= 0 and task.lengths(candidate, candidate):
                return candidate
    raise LengthwiseError(f"task {task.name!r} has no instances near length {length}; check its lengths")


def asks_for_sets(task: Task) -> bool:
    """Whether several next tokens may be right; then no token has parents, and sparsity is not defined."""
    return task.batch(nearest(task, 10), 1, stream(0, "predict", "allowed")).allowed is not None


def has_places(task: Task) -> bool:
    """Whether two tokens share a place."""
    batch = task.batch(nearest(task, 10), 4, stream(0, "predict", "places"))
    row = batch.places[0, batch.places[0, :, 0] > 0, 0]
    return len(np.unique(row)) < len(row)


def arguments_from_locality(system: PositionSystem, row: StructureRow | None) -> list[Argument]:
    """A *yes* by our theorem where the task is sparse and local under the scheme; otherwise no argument.

    Theorem A (plain ids) needs parents and selectors together in a window, since a head of its class finds its tokens
    by what the window holds. Corollary C (coupled ids) needs the parents only: the ids say which tokens they are. It is
    about one level of ids; of several levels nothing is proved.
    """
    if row is None or not (row.sparse and row.local) or not (system.coupled or system.relative) or row.levels > 1:
        return []
    if not system.coupled and not len(set(row.both)) == len(set(row.both_span)) == 1:
        return []
    # A span that is equal at few or close lengths may still grow.
    if len(row.lengths) < FEWEST or max(row.lengths) < SPREAD * min(row.lengths):
        return []
    if system.coupled:
        k, span, of, theorem = row.sparsity[0], row.span[0], "parents", "Corollary C"
    else:
        k, span, of, theorem = row.both[0], row.both_span[0], "parents and selectors", "Theorem A"
    local = f"sparse (k = {k}) and local (span {span} at every length) under {row.scheme} ids"
    why = f"{local}, counting {of} ({theorem}, docs/sparsity.md)"
    return [Argument("yes", "ours", why, {"kind": "structure", **fields_of(row)})]


def dependencies(task: Task) -> tuple[str, ...]:
    """The lines of one short example: each scored token with its parents and selectors."""
    batch = task.batch(nearest(task, 3), 1, stream(0, "predict", "example"))
    text = batch.text(0)
    lines = [" ".join(text)]
    for t in np.flatnonzero(batch.scored):
        parents = _named(text, batch.parents[0, t]) or "nothing (the layout fixes it)"
        selectors = _named(text, batch.selectors[0, t])
        lines.append(f"{text[t]} ← {parents}" + (f"   chosen by {selectors}" if selectors else ""))
    return tuple(lines)


def _named(text: list[str], positions: np.ndarray) -> str:
    shown = sorted({int(p) for p in positions if p >= 0})
    names = [f"{text[p]}@{p}" for p in shown[:8]]
    return ", ".join(names) + (f", … ({len(shown)} tokens)" if len(shown) > 8 else "")
