"""What a task's structure means under a scheme: its sparsity k, and its span in position ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from lengthwise.core.batch import Batch
from lengthwise.core.rng import Rng
from lengthwise.positions.schemes import PositionScheme
from lengthwise.positions.schemes.base import LevelKind


@runtime_checkable
class Structured(Protocol):
    """What this page needs of a task; positions and tasks don't import each other."""

    @property
    def levels(self) -> tuple[LevelKind, ...]:
        """The kinds of the place levels."""
        ...

    def batch(self, length: int, size: int, rng: Rng) -> Batch:
        """Sequences of one length."""
        ...


@dataclass(frozen=True)
class Structure:
    """``sparsity``: the most parents of a scored token; ``span``: the farthest of them, in position ids."""

    length: int
    sparsity: int
    span: int


def sparsity(batch: Batch) -> int:
    """k, the largest number of parents of a scored token."""
    return int((batch.parents[:, batch.scored] >= 0).sum(axis=-1).max(initial=0))


def span(batch: Batch, ids: np.ndarray) -> int:
    """Largest |id of the predicting token − id of a parent| over scored tokens, on the first level of ``ids``.

    The predicting token of position t is the one at t − 1, whose output the token is.
    """
    target = np.flatnonzero(batch.scored)
    parents = batch.parents[:, target]
    rows = np.arange(batch.size)[:, None, None]
    # Where there is no parent, the predicting token stands in for itself: distance 0.
    predicting = np.broadcast_to((target - 1)[None, :, None], parents.shape)
    parents = np.where(parents < 0, predicting, parents)
    first = ids[:, :, 0]
    return int(np.abs(first[rows, predicting] - first[rows, parents]).max(initial=0))


def structure(task: Structured, scheme: PositionScheme, length: int, rng: Rng, *, size: int = 64) -> Structure:
    """Sparsity and span of a sampled batch, under the ids that the scheme gives at test time.

    Drawn ids are compared in their smallest form (contiguous blocks from 1): a random subset stretches every span
    alike and says nothing of the task.
    """
    batch = task.batch(length, size, rng)
    plain = batch.places if scheme.uses_places else scheme.for_evaluation().assign(batch.places, task.levels, rng)
    return Structure(length, sparsity(batch), span(batch, plain))
