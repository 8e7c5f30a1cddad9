"""Ids modulo m: tokens whose positions differ by a multiple of m share an id."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.config import AtLeast2
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.positions.schemes import SCHEMES, PositionScheme


@SCHEMES.register("modulo")
class Modulo(PositionScheme):
    """Token i (from 0) has the id i mod ``m``, in training and at test: a coupling of all tokens of one residue class.

    Every id is trained at every length. What depends on tokens some periods away, for a period that divides ``m``, is
    local, and a language that needs positions only modulo ``m`` needs none beside these ids.
    """

    summary = "0, 1, …, m − 1 again and again: tokens a multiple of m apart share an id"
    wraps = True

    m: AtLeast2 = 2
    """The period; a multiple of every period that the task has."""

    @property
    def max_position(self) -> int:  # type: ignore[override]
        """The largest id, m − 1."""
        return self.m - 1

    def assign(self, places: Int[ndarray, "B T K"], kinds: tuple[LevelKind, ...], rng: Rng) -> Int[ndarray, "B T 1"]:
        """The same ids for every row."""
        rows, tokens, _ = places.shape
        return np.broadcast_to(np.arange(tokens) % self.m, (rows, tokens))[:, :, None].copy()
