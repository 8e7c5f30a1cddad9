"""The scheme `sequential`: ids 0, 1, 2, … of all tokens, with a random start in training on request."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.positions.schemes.base import SCHEMES, PositionScheme


@SCHEMES.register("sequential")
class Sequential(PositionScheme):
    """Consecutive ids from 0; with ``random_start``, from a uniform random offset in training ("absolute shift")."""

    summary = "0, 1, 2, …; with a random start in training on request (absolute shift)"

    max_position: int = 2048
    random_start: bool = False

    def assign(self, places: Int[ndarray, "B T K"], kinds: tuple[LevelKind, ...], rng: Rng) -> Int[ndarray, "B T 1"]:
        """Consecutive ids; each row has a start of its own."""
        rows, tokens, _ = places.shape
        self.check_fits(tokens - 1)
        start = rng.integers(self.max_position - tokens + 2, size=(rows, 1)) if self.random_start else 0
        return np.broadcast_to(start + np.arange(tokens), (rows, tokens))[:, :, None].copy()

    def for_evaluation(self) -> Sequential:
        """The same scheme without a random start."""
        return Sequential(max_position=self.max_position)
