"""A rule of the user's own: a Python function from places to ids."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.core.user.file import load_object
from lengthwise.positions.schemes.base import SCHEMES, PositionScheme


@SCHEMES.register("own-rule")
class OwnRule(PositionScheme):
    """Ids from ``function``, a ``path/to/file.py:name`` that is called as ``name(places, rng, training)``.

    ``places`` are whole numbers ``[B, T, K]``, ``rng`` is a NumPy generator, and ``training`` is False at test. The
    function returns ids of the same shape within 0..max_position, 0 for tokens without a place. Without a function the
    id is the place.
    """

    summary = "ids from a Python function of your own"
    uses_places = True
    one_id_per_place = False

    max_position: int = 512
    function: str = ""
    training: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.function:  # a mistake in its name shows here, and names in files that we read are refused here
            self._rule()

    def assign(self, places: Int[ndarray, "B T K"], kinds: tuple[LevelKind, ...], rng: Rng) -> Int[ndarray, "B T K"]:
        """What the function returns; raises `LengthwiseError` for a wrong shape, type or range."""
        ids: Any = places.copy()
        if self.function:
            ids = np.asarray(self._rule()(places.copy(), rng, self.training))
            where = f"the rule {self.function.rpartition(':')[2]}"
            require(
                ids.shape == places.shape, f"{where} returns shape {ids.shape}; return {places.shape}, as the places"
            )
            require(np.issubdtype(ids.dtype, np.integer), f"{where} returns {ids.dtype}; return whole numbers")
            if ids.min(initial=0) < 0:
                raise LengthwiseError(f"{where} returns {ids.min()}; ids must be 0 or more")
        for level, kind in enumerate(kinds):
            if kind == "position":
                self.check_fits(int(ids[:, :, level].max(initial=0)))
            else:
                ids[:, :, level] = places[:, :, level]
        return ids.astype(np.int64)

    def _rule(self) -> Callable[..., Any]:
        return load_object(self.function, kind="rule", wanted="function", fits=callable)

    def for_evaluation(self) -> OwnRule:
        """The same rule, called with ``training=False``."""
        return dataclasses.replace(self, training=False)
