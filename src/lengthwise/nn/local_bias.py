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

    With ``sink``, tokens without a place (id 0), such as ``<bos>``, are seen from everywhere, with a bias of their own
    (an attention sink, Xiao et al. 2024). Attention averages, so that without a sink it can't tell one near token from
    two equal ones; the share of the sink shows how many there are.

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
        sink: bool = False,
        slots: Slots | None = None,
    ) -> None:
        require(heads >= 1, f"heads must be at least 1, got {heads}")
        require(window >= 0, f"window must be at least 0, got {window}")
        require(scale > 0, f"scale must be positive, got {scale}")
        super().__init__(levels, slots)
        self.window_of_ids, self.scale, self.sink = window, scale, sink
        rows = 2 * window + 1 + sink
        self.tables = Modules[EmbeddingTable](EmbeddingTable(rows, heads) for _ in self.levels)
        for table in self.tables:
            nn.init.normal_(table.weight, std=0.02)

    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        """The scaled entries of the level's table, and −∞ outside the window; the table's last row is the sink's."""
        distance, reach = distances(queries, keys), self.window_of_ids
        row, far = distance.clamp(-reach, reach) + reach, distance.abs() > reach
        if self.sink:
            placeless = (keys == 0)[:, None, :]
            row, far = row.masked_fill(placeless, 2 * reach + 1), far & ~placeless
        near = self.tables[index](row).movedim(-1, 1)
        return (self.scale * near).masked_fill(far[:, None], -math.inf)
