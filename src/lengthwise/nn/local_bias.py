"""Attention to near ids alone, with a learned bias per distance (ours, after Beltagy et al. 2020; Cho et al. 2024)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxtyping import Float, Int
from torch import Tensor, nn

from lengthwise.core.errors import require
from lengthwise.nn.module_list import Modules
from lengthwise.nn.parameters import EmbeddingTable
from lengthwise.nn.relative_bias import RelativeBias, distances
from lengthwise.nn.slots import Slots


class LocalBias(RelativeBias):
    """logit(i, j) + Σ_ℓ s · table_ℓ[h, p_i − p_j] where |p_i − p_j| ≤ w on every level ℓ, and −∞ elsewhere.

    The window w is one of *ids*, not of tokens: coupled ids bring what a token depends on into it, however far away
    that is. What a head computes then depends on the tokens in the window alone, so that nothing in it changes with the
    length. s = ``scale`` is how many times faster than its own entries a bias of the table moves under Adam: a learning
    rate of 0.002 moves an entry by at most about 2 in 1,000 steps, and a sharp head needs biases of about 10.

    Input: ids of queries ``[B, Q]`` and keys ``[B, T]``, or with a last axis of levels, whose biases are summed.
    Output: what to add to the attention logits, ``[B, heads, Q, T]``. The causal mask is not part of it. Raises
    `LengthwiseError` unless ``window`` is 0 or more and ``scale`` is positive.

    >>> import torch
    >>> from lengthwise.nn import LocalBias
    >>> bias, ids = LocalBias(heads=4, window=1), torch.tensor([[3, 2, 1, 3, 2, 1, 2, 3, 4]])
    >>> bias(ids).shape, bias(ids)[0, 0, -1].isfinite().nonzero().flatten().tolist()
    (torch.Size([1, 4, 9, 9]), [0, 3, 7, 8])
    """

    def __init__(
        self,
        heads: int,
        levels: int | Sequence[int] = 1,
        *,
        window: int = 4,
        scale: float = 12.0,
        slots: Slots | None = None,
    ) -> None:
        require(heads >= 1, f"heads must be at least 1, got {heads}")
        require(window >= 0, f"window must be at least 0, got {window}")
        require(scale > 0, f"scale must be positive, got {scale}")
        super().__init__(levels, slots)
        self.window_of_ids, self.scale = window, scale
        self.tables = Modules[EmbeddingTable](EmbeddingTable(2 * window + 1, heads) for _ in self.levels)
        for table in self.tables:
            nn.init.normal_(table.weight, std=0.02)

    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        """The scaled entries of the level's table, and −∞ outside the window."""
        distance, reach = distances(queries, keys), self.window_of_ids
        near = self.tables[index](distance.clamp(-reach, reach) + reach).movedim(-1, 1)
        return (self.scale * near).masked_fill((distance.abs() > reach)[:, None], -math.inf)
