"""Hard-ALiBi: some heads see the last few tokens only, the others see everything (Jelassi et al. 2024)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lengthwise.core.errors import require
from lengthwise.nn.relative_bias import RelativeBias, distances
from lengthwise.nn.slots import Slots


class HardALiBi(RelativeBias):
    """Head h = 1 … m: 0 where |p_i − p_j| < h, and −∞ elsewhere; the other heads: 0, as without positions.

    m = ``local_heads`` (None: half of them, ours). So the local heads tell a token its last m tokens and their order,
    and the other heads look them up anywhere. Input: ids of queries ``[B, Q]`` and keys ``[B, T]``, or with a last axis
    of levels, all of which have to be near. Output: what to add to the attention logits, ``[B, heads, Q, T]``. The
    causal mask is not part of it. Has no parameters. Raises `LengthwiseError` unless 1 ≤ ``local_heads`` ≤ ``heads``.

    >>> import torch
    >>> from lengthwise.nn import HardALiBi
    >>> bias, ids = HardALiBi(heads=4, local_heads=2), torch.arange(6)[None]
    >>> [int(head[-1].isfinite().sum()) for head in bias(ids)[0]]
    [1, 2, 6, 6]
    """

    reach: Tensor

    def __init__(
        self, heads: int, levels: int | Sequence[int] = 1, *, local_heads: int | None = None, slots: Slots | None = None
    ) -> None:
        local_heads = (heads + 1) // 2 if local_heads is None else local_heads
        require(1 <= local_heads <= heads, f"local_heads must be 1 to {heads}, the number of heads, got {local_heads}")
        super().__init__(levels, slots)
        reach = [head + 1.0 if head < local_heads else math.inf for head in range(heads)]
        self.register_buffer("reach", torch.tensor(reach), persistent=False)

    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        """0 within each head's reach and −∞ beyond, the same for every level."""
        far = distances(queries, keys).abs()[:, None] >= self.reach[:, None, None]
        return torch.zeros(far.shape, device=far.device).masked_fill(far, -math.inf)
