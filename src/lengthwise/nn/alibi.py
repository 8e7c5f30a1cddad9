"""ALiBi: attention logits with a fixed penalty that is linear in the distance (Press et al. 2022)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lengthwise.core.errors import require
from lengthwise.nn.relative_bias import RelativeBias, distances
from lengthwise.nn.slots import Slots


class ALiBi(RelativeBias):
    """logit(i, j) − m_h · |p_i − p_j|, m_h = 2^(−8h/H) for head h = 1 … H, summed over the levels of the ids.

    Input: ids of queries ``[B, Q]`` and keys ``[B, T]``, or with a last axis of levels. Output: what to add to the
    attention logits, ``[B, heads, Q, T]``. The causal mask is not part of it. Has no parameters. Where the number of
    heads is no power of two, see `alibi_slopes`. Raises `LengthwiseError` without heads.

    >>> import torch
    >>> from lengthwise.nn import ALiBi
    >>> alibi, ids = ALiBi(heads=4), torch.arange(10).expand(2, 10)
    >>> alibi(ids).shape
    torch.Size([2, 4, 10, 10])
    """

    slopes: Tensor

    def __init__(self, heads: int, levels: int | Sequence[int] = 1, *, slots: Slots | None = None) -> None:
        require(heads >= 1, f"heads must be at least 1, got {heads}")
        super().__init__(levels, slots)
        self.register_buffer("slopes", torch.tensor(alibi_slopes(heads)), persistent=False)

    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        """The penalties, the same for every level."""
        return -self.slopes[:, None, None] * distances(queries, keys).abs()[:, None]


def alibi_slopes(heads: int) -> list[float]:
    """2^(−8h/H) for h = 1 … H; if H is no power of two, the slopes of the power of two below it come first.

    The rest are every second slope (the 1st, 3rd, …) of the next power of two, as in the authors' code.
    """
    power = 2 ** math.floor(math.log2(heads))
    slopes = [2.0 ** (-8 * (h + 1) / power) for h in range(power)]
    between = [2.0 ** (-8 * (h + 1) / (2 * power)) for h in range(0, 2 * power, 2)]
    return slopes + between[: heads - power]
