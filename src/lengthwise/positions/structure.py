"""The structure of a task under a scheme: its sparsity k, and its span in position ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from lengthwise.core.batch import Batch
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.positions.schemes import PositionScheme


@runtime_checkable
class Structured(Protocol):
    """The part of a task that is needed here; positions and tasks do not import each other."""

    @property
    def levels(self) -> tuple[LevelKind, ...]:
        """The kinds of the place levels."""
        ...

    def batch(self, length: int, size: int, rng: Rng) -> Batch:
        """Sequences of one length."""
        ...


@dataclass(frozen=True)
class Structure:
    """Sparsity and span at one length: the largest number of parents, and the largest distance to one in ids."""

    length: int
    sparsity: int
    span: int


def sparsity(batch: Batch) -> int:
    """k, the largest number of parents of a scored token."""
    return int((batch.parents[:, batch.scored] >= 0).sum(axis=-1).max(initial=0))


def span(batch: Batch, ids: np.ndarray) -> int:
    """The largest |id of the predicting token − id of a parent| over scored tokens, on the first level of ``ids``.

    The token at position t is predicted from position t − 1.
    """
    target = np.flatnonzero(batch.scored)
    parents = batch.parents[:, target]
    rows = np.arange(batch.size)[:, None, None]
    # A missing parent is replaced by the predicting token, at distance 0.
    predicting = np.broadcast_to((target - 1)[None, :, None], parents.shape)
    parents = np.where(parents < 0, predicting, parents)
    first = ids[:, :, 0]
    return int(np.abs(first[rows, predicting] - first[rows, parents]).max(initial=0))


def structure(task: Structured, scheme: PositionScheme, length: int, rng: Rng, *, size: int = 64) -> Structure:
    """Sparsity and span of a sampled batch, under the ids that the scheme gives at test time.

    Coupled ids are compared as blocks from 1, since a random subset stretches all spans alike.
    """
    batch = task.batch(length, size, rng)
    plain = batch.places if scheme.uses_places else scheme.for_evaluation().assign(batch.places, task.levels, rng)
    return Structure(length, sparsity(batch), span(batch, plain))
