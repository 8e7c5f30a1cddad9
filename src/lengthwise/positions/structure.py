"""The structure of a task under a scheme: how many tokens matter (sparsity k), and how far they are in position ids."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.batch import Batch
from lengthwise.core.rng import Rng, stream
from lengthwise.positions.schemes import PositionScheme

if TYPE_CHECKING:
    from lengthwise.tasks import Task


@dataclass(frozen=True)
class Reach:
    """How many tokens a scored token depends on at most, and the largest distance to one of them in position ids."""

    count: int
    span: int


@dataclass(frozen=True)
class Structure:
    """At one length: the reach of parents, of selectors (which choose the parents by content), and of both together."""

    length: int
    parents: Reach
    selectors: Reach
    both: Reach

    @property
    def sparsity(self) -> int:
        """k, the largest number of parents of a scored token."""
        return self.parents.count

    @property
    def span(self) -> int:
        """The largest distance to a parent in position ids."""
        return self.parents.span


def reach(batch: Batch, positions: Int[ndarray, "B T P"], ids: Int[ndarray, "B T K"]) -> Reach:
    """The reach of ``positions`` (-1 for none) over scored tokens, with the distance on the level where it is largest.

    The token at position t is predicted from position t − 1. A position that is named twice counts once.
    """
    target = np.flatnonzero(batch.scored)
    wanted = np.sort(positions[:, target], axis=-1)
    new = (wanted >= 0) & np.diff(wanted, axis=-1, prepend=-1).astype(bool)
    rows = np.arange(batch.size)[:, None, None]
    # What is missing is replaced by the predicting token, at distance 0.
    predicting = np.broadcast_to((target - 1)[None, :, None], wanted.shape)
    wanted = np.where(wanted < 0, predicting, wanted)
    span = np.abs(ids[rows, predicting] - ids[rows, wanted]).max(initial=0)
    return Reach(int(new.sum(axis=-1).max(initial=0)), int(span))


def has_places(task: Task, length: int) -> bool:
    """Whether two tokens of a string of this length share a place; otherwise coupling changes nothing."""
    places = task.batch(length, 1, stream(0, "structure", "places")).places[0, :, 0]
    stated = places[places > 0]
    return len(np.unique(stated)) < len(stated)


def structure_at(task: Task, scheme: PositionScheme, length: int, seed: int = 0) -> Structure:
    """`structure` of the batch that `show` and `predict` share, so that both print the same numbers.

    It is computed once, unless a task of the user's has fields that can't be compared by a hash.
    """
    try:
        hash((task, scheme))
    except TypeError:
        return _structure_at.__wrapped__(task, scheme, length, seed)
    return _structure_at(task, scheme, length, seed)


@lru_cache(maxsize=1024)
def _structure_at(task: Task, scheme: PositionScheme, length: int, seed: int) -> Structure:
    return structure(task, scheme, length, stream(seed, "show", "structure", length))


def structure(task: Task, scheme: PositionScheme, length: int, rng: Rng, *, size: int = 64) -> Structure:
    """The structure of a sampled batch and of every test layout, under the ids that the scheme gives at test time.

    Ids that are one for each place are compared as blocks from 1, since a random subset stretches all spans alike. Of
    several layouts the largest count and span are taken, and of several levels of positions the largest distance.
    """
    levels = [i for i, kind in enumerate(task.levels) if kind == "position"] if scheme.uses_places else [0]
    found = []
    for layout in (None, *task.test_layouts(length)):
        batch = task.batch(length, size, rng, layout)
        ids = batch.places if scheme.equals_places else scheme.for_evaluation().assign(batch.places, task.levels, rng)
        both = np.concatenate([batch.parents, batch.selectors], axis=-1)
        found.append([reach(batch, tokens, ids[:, :, levels]) for tokens in (batch.parents, batch.selectors, both)])
    largest = (Reach(max(r.count for r in each), max(r.span for r in each)) for each in zip(*found, strict=True))
    return Structure(length, *largest)
