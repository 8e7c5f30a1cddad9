"""A learned bias per distance and id level, for coupled ids (position coupling: Cho et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Float, Int
from torch import Tensor, nn

from lengthwise.core.errors import require
from lengthwise.nn.module_list import Modules
from lengthwise.nn.parameters import EmbeddingTable
from lengthwise.nn.relative_bias import RelativeBias, distances
from lengthwise.nn.slots import Slots


class CoupledBias(RelativeBias):
    """logit(i, j) + Σ_ℓ table_ℓ[h, clip(p_i − p_j, −B/2, B/2 − 1)], one table of B = ``buckets`` rows per level ℓ.

    Distances keep their sign: coupled ids fall as well as rise. Tables serve all layers.

    Input: ids of queries ``[B, Q]`` and keys ``[B, T]``, or with a last axis of levels, whose biases are summed.
    Output: what to add to the attention logits, ``[B, heads, Q, T]``. The causal mask is not part of it. Raises
    `LengthwiseError` unless ``buckets`` is even and at least 2.

    >>> import torch
    >>> from lengthwise.nn import CoupledBias
    >>> bias, ids = CoupledBias(heads=4), torch.tensor([[3, 2, 1, 3, 2, 1, 2, 3, 4]])
    >>> bias(ids).shape
    torch.Size([1, 4, 9, 9])
    """

    def __init__(
        self, heads: int, levels: int | Sequence[int] = 1, *, buckets: int = 64, slots: Slots | None = None
    ) -> None:
        require(heads >= 1, f"heads must be at least 1, got {heads}")
        require(buckets >= 2 and buckets % 2 == 0, f"buckets must be even and at least 2, got {buckets}")
        super().__init__(levels, slots)
        self.middle = buckets // 2
        self.tables = Modules[EmbeddingTable](EmbeddingTable(buckets, heads) for _ in self.levels)
        for table in self.tables:
            nn.init.normal_(table.weight, std=0.02)

    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        distance = distances(queries, keys).clamp(-self.middle, self.middle - 1)
        return self.tables[index](distance + self.middle).movedim(-1, 1)
