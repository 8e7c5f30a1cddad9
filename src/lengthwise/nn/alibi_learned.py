"""ALiBi with learned slopes: a linear penalty on distance (after Press et al. 2022)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from lengthwise.core.errors import require
from lengthwise.nn.alibi import alibi_slopes
from lengthwise.nn.parameters import Scalars
from lengthwise.nn.relative_bias import RelativeBias, distances
from lengthwise.nn.slots import Slots


class LearnedALiBi(RelativeBias):
    """logit(i, j) − softplus(m_h) · |p_i − p_j|, with a learned m_h per head; slopes start at those of `ALiBi`.

    Input: ids of queries ``[B, Q]`` and keys ``[B, T]``, or with a last axis of levels, whose biases are summed.
    Output: what to add to the attention logits, ``[B, heads, Q, T]``. The causal mask is not part of it. Raises
    `LengthwiseError` without heads.

    >>> import torch
    >>> from lengthwise.nn import LearnedALiBi
    >>> alibi, ids = LearnedALiBi(heads=4), torch.arange(10).expand(2, 10)
    >>> alibi(ids).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(self, heads: int, levels: int | Sequence[int] = 1, *, slots: Slots | None = None) -> None:
        require(heads >= 1, f"heads must be at least 1, got {heads}")
        super().__init__(levels, slots)
        self.slope = Scalars(torch.tensor(alibi_slopes(heads)).expm1().log())

    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        """The penalties, the same for every level."""
        distance = distances(queries, keys).abs()[:, None].float()
        return -functional.softplus(self.slope(distance)) * distance
