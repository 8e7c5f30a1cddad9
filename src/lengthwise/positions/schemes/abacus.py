"""Abacus ids: the place plus one random offset per sequence (McLeish et al. 2024)."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.bounds import AtLeast0
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.positions.schemes.base import SCHEMES, PositionScheme


@SCHEMES.register("abacus")
class AbacusScheme(PositionScheme):
    """Place p gets the id p + κ, with κ uniform in 0..``offset`` for each sequence in training, and 0 at test.

    No id above the longest training place + ``offset`` is ever trained, so that lengths beyond are out of reach. As
    published, signs have id 0; here they share a place of their own, and get an id like all others.
    """

    summary = "the place plus a random offset in training: no id beyond training length + largest offset"
    uses_places = True

    max_position: int = 1024
    offset: AtLeast0 = 99

    def assign(self, places: Int[ndarray, "B T K"], kinds: tuple[LevelKind, ...], rng: Rng) -> Int[ndarray, "B T K"]:
        """The ids; every row and position level has an offset of its own."""
        ids = places.copy()
        for level, kind in enumerate(kinds):
            if kind == "label":
                continue
            own = places[:, :, level]
            largest = int(own.max(initial=0))
            self.check_fits(largest)
            most = min(self.offset, self.max_position - largest)
            offsets = rng.integers(most + 1, size=(len(own), 1)) if self.offset else 0
            ids[:, :, level] = np.where(own > 0, own + offsets, 0)
        return ids

    def for_evaluation(self) -> AbacusScheme:
        """The places themselves."""
        return dataclasses.replace(self, offset=0)
