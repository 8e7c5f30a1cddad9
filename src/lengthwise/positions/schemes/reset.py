"""Ids that restart where a new part of the string begins."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.bounds import AtLeast0
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.positions.schemes.base import SCHEMES, PositionScheme


@SCHEMES.register("reset")
class Reset(PositionScheme):
    """Ids count the tokens since the place last fell, plus a random ``offset`` per sequence in training.

    A task that numbers the symbols of each part from the same place says where a part begins: at a separator, or at the
    next number. Tokens without a place have id 0. There is one level of ids, from the first level of places.
    """

    summary = "ids that restart at 1 where a new part of the string begins"
    uses_places = True
    one_id_per_place = False

    max_position: int = 1024
    offset: AtLeast0 = 99

    def assign(self, places: Int[ndarray, "B T K"], kinds: tuple[LevelKind, ...], rng: Rng) -> Int[ndarray, "B T K"]:
        """The same counts on every position level; a label level keeps its places."""
        first = places[:, :, 0]
        tokens = np.arange(first.shape[1])
        falls = np.diff(first, axis=1, prepend=0) < 0
        started = np.maximum.accumulate(np.where(falls | (first == 0), tokens + (first == 0), 0), axis=1)
        counts = np.where(first > 0, tokens - started + 1, 0)
        largest = int(counts.max(initial=0))
        self.check_fits(largest)
        most = min(self.offset, self.max_position - largest)
        offsets = rng.integers(most + 1, size=(len(first), 1)) if self.offset else 0
        ids = places.copy()
        for level, kind in enumerate(kinds):
            if kind == "position":
                ids[:, :, level] = np.where((counts > 0) & (places[:, :, level] > 0), counts + offsets, 0)
        return ids

    def for_evaluation(self) -> Reset:
        """The counts themselves."""
        return dataclasses.replace(self, offset=0)
