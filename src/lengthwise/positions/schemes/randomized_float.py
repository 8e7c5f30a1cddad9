"""Randomized ids on a fine grid: real-valued positions in training, evenly spaced ones at test."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.bounds import AtLeast1
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.positions.schemes.base import SCHEMES, PositionScheme, sorted_subsets


@SCHEMES.register("randomized-float")
class RandomizedFloat(PositionScheme):
    """Sorted random real positions in training, on a grid of ``grid`` ids for each unit; i · ``grid`` at test.

    Ids are whole numbers in this package, so that a real position x is the id that is nearest to ``grid`` · x. Where a
    test string is longer than ``max_position`` / ``grid``, its ids are spread evenly over the range.
    """

    summary = "sorted random positions on a fine grid in training; evenly spaced at test"

    max_position: int = 4095
    grid: AtLeast1 = 4
    evenly: bool = False
    """Whether ids are evenly spaced, as they are at test."""

    def assign(self, places: Int[ndarray, "B T K"], kinds: tuple[LevelKind, ...], rng: Rng) -> Int[ndarray, "B T 1"]:
        """Sorted ids; each row has a subset of its own in training."""
        rows, tokens, _ = places.shape
        self.check_fits(tokens - 1)
        if not self.evenly:
            return sorted_subsets(rng, rows, tokens, 0, self.max_position)[:, :, None]
        gaps = max(1, tokens - 1)
        step = min(float(self.grid), self.max_position / gaps)
        ids = np.floor(np.arange(tokens) * step).astype(np.int64)
        return np.broadcast_to(ids[None, :, None], (rows, tokens, 1)).copy()

    def for_evaluation(self) -> RandomizedFloat:
        """Evenly spaced ids from 0."""
        return dataclasses.replace(self, evenly=True)
