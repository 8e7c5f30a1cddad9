"""The scheme `randomized`: ids are a sorted random subset of the id range (Ruoss et al. 2023)."""

from __future__ import annotations

from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.positions.schemes.base import SCHEMES, PositionScheme, sorted_subsets


@SCHEMES.register("randomized")
class Randomized(PositionScheme):
    """A sorted random subset of ``0..max_position``, at training and at test (Ruoss et al. 2023)."""

    summary = "a sorted random subset of the id range, at training and at test"

    max_position: int = 2047

    def assign(self, places: Int[ndarray, "B T K"], kinds: tuple[LevelKind, ...], rng: Rng) -> Int[ndarray, "B T 1"]:
        """Sorted ids; each row has a subset of its own."""
        rows, tokens, _ = places.shape
        self.check_fits(tokens - 1)
        return sorted_subsets(rng, rows, tokens, 0, self.max_position)[:, :, None]
