"""What a position scheme is: a rule that gives every token its position ids, from places only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.registry import Registry
from lengthwise.core.rng import Rng

LevelKind = Literal["coupled", "fixed"]
PlaceRule = Literal["earlier", "next"]


class PositionScheme(ABC):
    """Gives each token its position ids; sees places and a random stream, never tokens.

    Ids lie in ``0..max_position``; 0 is the id of "no place" in the coupled schemes.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    predicted: ClassVar[bool] = False
    """Whether the model has to predict the ids of the tokens that it generates."""
    uses_places: ClassVar[bool] = False
    """Whether ids follow the task's places, or simply number the tokens."""
    max_position: int

    def __post_init__(self) -> None:
        if self.max_position < 1:
            raise ValueError(f"max_position must be at least 1, got {self.max_position}")

    @abstractmethod
    def assign(self, places: Int[ndarray, "B T K"], kinds: tuple[LevelKind, ...], rng: Rng) -> Int[ndarray, "B T L"]:
        """Position ids of a batch: L = K levels where places are used, otherwise 1.

        Raises `LengthwiseError` when more ids are needed than there are.
        """

    def for_evaluation(self) -> PositionScheme:
        """The scheme that gives ids at test time."""
        return self

    def kinds(self, kinds: tuple[LevelKind, ...]) -> tuple[LevelKind, ...]:
        """The kinds of the levels of the ids, given those of the places."""
        return kinds if self.uses_places else ("coupled",)

    def check_rule(self, rule: PlaceRule) -> None:
        """Raise a `LengthwiseError` if ids have to be predicted that no rule on the prefix gives."""
        del rule

    def check_fits(self, largest: int) -> None:
        """Raise a `LengthwiseError` unless ids up to ``largest`` exist."""
        if largest > self.max_position:
            raise LengthwiseError(
                f"needs {largest} position ids, but max_position is {self.max_position}; raise scheme.max_position"
            )


SCHEMES: Registry[PositionScheme] = Registry("scheme")


def sorted_subsets(rng: Rng, rows: int, size: int, low: int, high: int) -> Int[ndarray, "rows size"]:
    """``rows`` uniform random subsets of ``low..high`` with ``size`` members each, sorted."""
    keys = rng.random((rows, high - low + 1), dtype=np.float32)
    chosen = np.argpartition(keys, size - 1, axis=1)[:, :size] if size < keys.shape[1] else np.argsort(keys, axis=1)
    return np.sort(chosen, axis=1) + low
