"""Position coupling: tokens that share a place share an id (Cho et al. 2024; Golowich et al. 2025, Def. 4.1).

*Predictive* position coupling differs in one thing only: the ids of generated tokens are outputs of the model.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.config import config
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import Rng
from lengthwise.positions.schemes.base import SCHEMES, LevelKind, PlaceRule, PositionScheme, sorted_subsets

Draw = Literal["sorted", "contiguous", "pose", "permuted"]


@SCHEMES.register("coupled")
@config
class Coupled(PositionScheme):
    """Place p gets the id table[p]; the table of a ``coupled`` level is redrawn for every sequence.

    ``draw`` says how: ``sorted``, a sorted random subset of ``1..max_position``; ``permuted``, the same in random
    order; ``contiguous``, a block with a random offset (offset 1 at test); ``pose``, a block with one random jump.
    A ``fixed`` level keeps id = place, and place 0 ("no place") keeps id 0.
    """

    summary = "tokens that belong together share an id, redrawn per sequence"
    uses_places = True

    max_position: int = 512
    draw: Draw = "sorted"
    start_at_one: bool = False
    """No random offset: what evaluation uses for the contiguous drawings."""

    def assign(self, places: Int[ndarray, "B T K"], kinds: tuple[LevelKind, ...], rng: Rng) -> Int[ndarray, "B T K"]:
        """One table per row and coupled level."""
        ids = places.copy()
        for level, kind in enumerate(kinds):
            count = int(places[:, :, level].max(initial=0))
            if kind == "fixed" or count == 0:
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
        # PoSE-like: the offset before the jump and the one after it, uniform over their ordered pairs' sorted values.
        offsets = np.sort(rng.integers(room, size=(rows, 2)), axis=1)
        cut = rng.integers(1, count + 1, size=(rows, 1))
        return block + np.where(np.arange(count) < cut, offsets[:, :1], offsets[:, 1:])

    def for_evaluation(self) -> Coupled:
        """The same drawing where it covers the whole range; the block from 1 where it has an offset or a jump."""
        if self.draw in ("sorted", "permuted"):
            return self
        return dataclasses.replace(self, draw="contiguous", start_at_one=True)


@SCHEMES.register("predictive-coupling")
@config
class PredictiveCoupling(Coupled):
    """Predictive Position Coupling (PPC, Golowich et al. 2025): coupled ids that the model predicts as it generates."""

    summary = "coupled ids that the model itself predicts while it generates (PPC)"
    predicted = True

    def check_rule(self, rule: PlaceRule) -> None:
        """A new place's id follows from the prefix only where ids are consecutive."""
        if rule == "next" and self.draw in ("sorted", "permuted"):
            raise LengthwiseError(
                f"predictive-coupling with draw {self.draw!r} can't predict the id of a new place, and this task goes "
                "on to new places; set scheme.draw to contiguous or pose, or use scheme coupled"
            )
