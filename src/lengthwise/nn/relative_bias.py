"""`RelativeBias`, the base class of encodings that add a function of two ids to the attention logits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from jaxtyping import Float, Int
from torch import Tensor

from lengthwise.nn.base import PositionEncoding
from lengthwise.nn.levels import add, level_indices, not_none, on_level
from lengthwise.nn.slots import Slots


class RelativeBias(PositionEncoding):
    """The sum of a bias per level; subclasses say which bias a pair of ids of a level has."""

    def __init__(self, levels: int | Sequence[int], slots: Slots | None) -> None:
        super().__init__(slots)
        self.levels = level_indices(levels)

    @abstractmethod
    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"]) -> Float[Tensor, "B H Q T"]:
        """The bias of every pair of ids on one level."""

    def forward(
        self, queries: Int[Tensor, "B Q *L"], keys: Int[Tensor, "B T *L"] | None = None
    ) -> Float[Tensor, "B H Q T"]:
        """What to add to the attention logits; keys are the queries' tokens unless given."""
        return not_none(self.bias(queries, queries if keys is None else keys))

    def bias(self, queries: Int[Tensor, "B Q *L"], keys: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H Q T"] | None:
        """The sum over the levels; None without levels."""
        total = None
        for level in self.levels:
            total = add(total, self.pair_bias(on_level(queries, level), on_level(keys, level)))
        return total


def distances(queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"]) -> Int[Tensor, "B Q T"]:
    """The query's id minus the key's id, for every pair."""
    return queries[:, :, None] - keys[:, None, :]
