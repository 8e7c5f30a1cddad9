"""Coupled ids as one block, with a jump in a share of the sequences only."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.bounds import Share
from lengthwise.core.rng import Rng
from lengthwise.positions.schemes.base import SCHEMES
from lengthwise.positions.schemes.coupled import Coupled, Draw


@SCHEMES.register("coupled-rare-jump")
class RareJump(Coupled):
    """`Coupled` with a block of ids for each sequence, which has one random jump with probability ``jump``.

    Without jumps a model never meets far ids beside near ones. With them the next id is not always the current one plus
    one, so that a model of one layer can't be sure of the token behind a jump. Rare jumps do both. Ours, from no paper.
    """

    summary = "coupled ids as one block, with a jump in some sequences only"

    draw: Draw = "pose"
    jump: Share = 0.3

    def _table(self, rows: int, count: int, rng: Rng) -> Int[ndarray, "rows count"]:
        jumping = super()._table(rows, count, rng)
        if self.draw != "pose" or self.start_at_one:
            return jumping
        block = rng.integers(1, self.max_position - count + 2, size=(rows, 1)) + np.arange(count)
        return np.where(rng.random((rows, 1)) < self.jump, jumping, block)

    def for_evaluation(self) -> RareJump:
        """The block that starts at 1."""
        return dataclasses.replace(self, draw="contiguous", start_at_one=True)
