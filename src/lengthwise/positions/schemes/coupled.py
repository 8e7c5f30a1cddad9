"""The scheme `coupled`: tokens that share a place share an id (Cho et al. 2024; Golowich et al. 2025, Def. 4.1).

Where the model also predicts the ids of the tokens that it generates, see `predictive_coupling.py`.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.positions.schemes.base import SCHEMES, PositionScheme, sorted_subsets

Draw = Literal["sorted", "contiguous", "pose", "permuted"]


@SCHEMES.register("coupled")
class Coupled(PositionScheme):
    """Place p gets the id table[p]; the table of a ``position`` level is drawn anew for every sequence.

    ``draw`` says how. ``sorted``: a sorted random subset of ``1..max_position``. ``permuted``: the same in random
    order. ``contiguous``: a block with a random offset. ``pose``: a block with one random jump. Blocks start at 1 at
    test. On a ``label`` level the id is the place. Place 0 ("no place") keeps id 0.
    """

    summary = "tokens that belong together share an id, redrawn per sequence"
    uses_places = True

    max_position: int = 512
    draw: Draw = "sorted"
    start_at_one: bool = False
    """Whether blocks start at 1, as they do at test."""

    def assign(self, places: Int[ndarray, "B T K"], kinds: tuple[LevelKind, ...], rng: Rng) -> Int[ndarray, "B T K"]:
        """The ids; every row and position level has a table of its own."""
        ids = places.copy()
        for level, kind in enumerate(kinds):
            count = int(places[:, :, level].max(initial=0))
            if kind == "label" or count == 0:
                continue
            self.check_fits(count)
            table = np.zeros((len(places), count + 1), dtype=np.int64)
            table[:, 1:] = self._table(len(places), count, rng)
            ids[:, :, level] = np.take_along_axis(table, places[:, :, level], axis=1)
        return ids

    def _table(self, rows: int, count: int, rng: Rng) -> Int[ndarray, "rows count"]:
        if self.draw in ("sorted", "permuted"):
            table = sorted_subsets(rng, rows, count, 1, self.max_position)
            return rng.permuted(table, axis=1) if self.draw == "permuted" else table
        block = np.broadcast_to(np.arange(1, count + 1), (rows, count))
        if self.start_at_one:
            return block
        room = self.max_position - count + 1
        if self.draw == "contiguous":
            return block + rng.integers(room, size=(rows, 1))
        # One jump. Unlike in the scheme `pose`, the part before it has an offset, too; both are uniform, then sorted.
        offsets = np.sort(rng.integers(room, size=(rows, 2)), axis=1)
        cut = rng.integers(1, count + 1, size=(rows, 1))
        return block + np.where(np.arange(count) < cut, offsets[:, :1], offsets[:, 1:])

    def for_evaluation(self) -> Coupled:
        """The same scheme for random subsets; the block that starts at 1 for ``contiguous`` and ``pose``."""
        if self.draw in ("sorted", "permuted"):
            return self
        return dataclasses.replace(self, draw="contiguous", start_at_one=True)
