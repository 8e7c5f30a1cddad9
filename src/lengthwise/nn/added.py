"""`AddedVectors`, the base class of encodings that add a vector per id to the token embedding."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from jaxtyping import Float, Int
from torch import Tensor

from lengthwise.nn.base import PositionEncoding
from lengthwise.nn.levels import add, level_indices, not_none, on_level
from lengthwise.nn.slots import Slots


class AddedVectors(PositionEncoding):
    """The sum of a vector per level; subclasses say which vector an id of a level has."""

    def __init__(self, levels: int | Sequence[int], slots: Slots | None) -> None:
        super().__init__(slots)
        self.levels = level_indices(levels)

    @abstractmethod
    def vectors(self, ids: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B T D"]:
        """What the ids of one level add; ``index`` counts the levels that are used, from 0."""

    def forward(self, ids: Int[Tensor, "B T *L"], /) -> Float[Tensor, "B T D"]:
        return not_none(self.embed(ids))

    def embed(self, ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B T D"] | None:
        """The sum over the levels; None without levels."""
        total = super().embed(ids)
        for index, level in enumerate(self.levels):
            total = add(total, self.vectors(on_level(ids, level), index))
        return total
