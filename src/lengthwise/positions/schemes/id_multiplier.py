"""Ids that are multiplied by a random number in training, so that large distances are met on short strings."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.bounds import AtLeast1
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.positions.schemes.base import SCHEMES, PositionScheme


@SCHEMES.register("id-multiplier")
class IdMultiplier(PositionScheme):
    """Ids 0, f, 2f, … with a factor f uniform in 1..``factor`` for each sequence in training, and 1 at test.

    The factor is at most what ``max_position`` allows. The public code draws one factor for a whole batch.
    """

    summary = "0, f, 2f, … with a random factor f in training; plain ids at test"

    max_position: int = 2047
    factor: AtLeast1 = 16

    def assign(self, places: Int[ndarray, "B T K"], kinds: tuple[LevelKind, ...], rng: Rng) -> Int[ndarray, "B T 1"]:
        """Multiples of one factor; each row has a factor of its own."""
        rows, tokens, _ = places.shape
        self.check_fits(tokens - 1)
        most = min(self.factor, self.max_position // max(1, tokens - 1))
        factors = rng.integers(1, most + 1, size=(rows, 1)) if self.factor > 1 else np.ones((rows, 1), dtype=np.int64)
        return (factors * np.arange(tokens))[:, :, None]

    def for_evaluation(self) -> IdMultiplier:
        """Consecutive ids from 0."""
        return dataclasses.replace(self, factor=1)
