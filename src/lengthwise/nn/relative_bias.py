"""`RelativeBias`, the base class of encodings that add a function of two ids to the attention logits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lengthwise.nn.base import PositionEncoding
from lengthwise.nn.levels import add, level_indices, not_none, on_level
from lengthwise.nn.slots import Slots

PAIRS = 1 << 20
"""Pairs of tokens whose hidden layer is in memory at a time when no gradient is needed."""


class RelativeBias(PositionEncoding):
    """The sum of a bias per level; subclasses say which bias a pair of ids of a level has."""

    def __init__(self, levels: int | Sequence[int], slots: Slots | None) -> None:
        super().__init__(slots)
        self.levels = level_indices(levels)

    @abstractmethod
    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        """The bias of every pair of ids on one level; ``index`` counts the levels that are used, from 0."""

    def forward(
        self, queries: Int[Tensor, "B Q *L"], keys: Int[Tensor, "B T *L"] | None = None
    ) -> Float[Tensor, "B H Q T"]:
        """What to add to the attention logits; keys are the queries' tokens unless given."""
        return not_none(self.bias(queries, queries if keys is None else keys))

    def bias(self, queries: Int[Tensor, "B Q *L"], keys: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H Q T"] | None:
        """The sum over the levels; None without levels."""
        total = None
        for index, level in enumerate(self.levels):
            total = add(total, self.pair_bias(on_level(queries, level), on_level(keys, level), index))
        return total


def distances(queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"]) -> Int[Tensor, "B Q T"]:
    """The query's id minus the key's id, for every pair."""
    return queries[:, :, None] - keys[:, None, :]


def by_rows(
    bias: Callable[[Tensor, Tensor], Tensor], queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"]
) -> Float[Tensor, "B H Q T"]:
    """``bias(queries, keys)``; without gradients, some queries at a time.

    An MLP's hidden layer holds ``width`` numbers per pair of tokens: gigabytes at 2,000 tokens, if made at once.
    """
    if torch.is_grad_enabled():
        return bias(queries, keys)
    rows = max(1, PAIRS // (keys.shape[0] * keys.shape[1]))
    return torch.cat([bias(piece, keys) for piece in queries.split(rows, dim=1)], dim=2)
