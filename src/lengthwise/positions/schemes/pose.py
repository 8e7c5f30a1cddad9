"""The scheme `pose`: consecutive ids with random jumps in training (PoSE, Zhu et al. 2023)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.bounds import AtLeast1
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.positions.schemes.base import SCHEMES, PositionScheme, sorted_subsets
from lengthwise.positions.schemes.sequential import Sequential


@SCHEMES.register("pose")
class PoSE(PositionScheme):
    """Consecutive ids with ``chunks - 1`` random jumps up to ``max_position``; plain ids at test (Zhu et al. 2023).

    With ``cut="first_half"`` (two chunks only) the first chunk is at most half of the sequence, as published;
    ``anywhere`` cuts uniformly.
    """

    summary = "consecutive ids with a random skip in training, so that far offsets are seen"

    max_position: int = 2047
    chunks: AtLeast1 = 2
    cut: Literal["first_half", "anywhere"] = "first_half"

    def assign(self, places: Int[ndarray, "B T K"], kinds: tuple[LevelKind, ...], rng: Rng) -> Int[ndarray, "B T 1"]:
        """Ids with jumps; each row has cuts and skips of its own."""
        rows, tokens, _ = places.shape
        self.check_fits(tokens - 1)
        jumps = min(self.chunks, tokens) - 1
        ids = np.broadcast_to(np.arange(tokens), (rows, tokens)).copy()
        if jumps:
            if jumps == 1 and self.cut == "first_half":
                cuts = rng.integers(1, (tokens + 1) // 2 + 1, size=(rows, 1))
            else:
                cuts = sorted_subsets(rng, rows, jumps, 1, tokens - 1)
            skips = np.sort(rng.integers(self.max_position - tokens + 2, size=(rows, jumps)), axis=1)
            chunk = (np.arange(tokens) >= cuts[:, :, None]).sum(axis=1)
            ids += np.take_along_axis(np.pad(skips, ((0, 0), (1, 0))), chunk, axis=1)
        return ids[:, :, None]

    def for_evaluation(self) -> Sequential:
        """Consecutive ids from 0."""
        return Sequential(max_position=self.max_position)
