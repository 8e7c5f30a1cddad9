"""`PositionScheme`: a rule that gives every token its position ids, from the places that the task states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.bounds import MOST
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.levels import LevelKind, PlaceRule
from lengthwise.core.registry import Registry
from lengthwise.core.rng import Rng


class PositionScheme(ABC):
    """Gives each token its position ids, as a function of the places and a random stream; tokens play no part.

    Ids lie in ``0..max_position``. In the coupled schemes, tokens without a place have id 0.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    predicted: ClassVar[bool] = False
    """Whether the model has to predict the ids of the tokens that it generates."""
    uses_places: ClassVar[bool] = False
    """Whether ids follow the task's places; otherwise they number the tokens."""
    one_id_per_place: ClassVar[bool] = True
    """Where ids follow places: whether tokens have equal ids exactly where they have equal places."""
    max_position: int

    def __post_init__(self) -> None:
        if self.max_position < 1:
            raise ValueError(f"max_position must be at least 1, got {self.max_position}")
        if self.max_position > MOST:
            raise ValueError(f"max_position must be at most {MOST:g}, got {self.max_position:g}")

    @property
    def equals_places(self) -> bool:
        """Whether two tokens have equal ids exactly where they have equal places, so that spans are those of places."""
        return self.uses_places and self.one_id_per_place

    @abstractmethod
    def assign(self, places: Int[ndarray, "B T K"], kinds: tuple[LevelKind, ...], rng: Rng) -> Int[ndarray, "B T L"]:
        """Position ids of a batch, from its places and their kinds of levels.

        There are L = K levels of ids where places are used, otherwise one. Raises `LengthwiseError` when more ids are
        needed than ``max_position`` allows.
        """

    def for_evaluation(self) -> PositionScheme:
        """The scheme that gives ids at test time."""
        return self

    def kinds(self, kinds: tuple[LevelKind, ...]) -> tuple[LevelKind, ...]:
        """The kinds of the levels of the ids, given those of the places."""
        return kinds if self.uses_places else ("position",)

    def check_rule(self, rule: PlaceRule) -> None:
        """Raises `LengthwiseError` if the ids that the model has to predict do not follow from the prefix."""
        del rule

    def check_fits(self, largest: int) -> None:
        """Raises `LengthwiseError` if ``largest`` is above ``max_position``."""
        if largest > self.max_position:
            raise LengthwiseError(
                f"needs {largest} position ids, but max_position is {self.max_position}; raise scheme.max_position"
            )


SCHEMES: Registry[PositionScheme] = Registry("scheme", PositionScheme)


def sorted_subsets(rng: Rng, rows: int, size: int, low: int, high: int) -> Int[ndarray, "rows size"]:
    """``rows`` uniform random subsets of ``low..high`` with ``size`` members each, sorted."""
    keys = rng.random((rows, high - low + 1), dtype=np.float32)
    chosen = np.argpartition(keys, size - 1, axis=1)[:, :size] if size < keys.shape[1] else np.argsort(keys, axis=1)
    return np.sort(chosen, axis=1) + low
