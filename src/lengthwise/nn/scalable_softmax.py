"""Scalable softmax, SSMax: logits scaled by the logarithm of the number of keys (Nakanishi 2025)."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.core.errors import require
from lengthwise.nn.content import ContentEncoding
from lengthwise.nn.parameters import Scalars
from lengthwise.nn.score_context import ScoreContext
from lengthwise.nn.slots import Slots


class ScalableSoftmax(ContentEncoding):
    """logit(i, j) · s_h · ln n_i, n_i the number of keys that query i sees, s_h learned per head.

    s starts at 1 / (the mean of ln n over n = 1 … ``length``), so that logits keep their size on average at about the
    training length. All layers share s (the author has one per layer). Ids are not used.

    Input: queries and keys ``[B, H, T, d]``. Output: causal attention logits ``[B, H, T, T]``. Raises
    `LengthwiseError` unless ``length`` is at least 2.

    >>> import torch
    >>> from lengthwise.nn import ScalableSoftmax
    >>> q, k = torch.randn(2, 2, 4, 10, 64)
    >>> ScalableSoftmax(heads=4)(q, k).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(self, heads: int, *, length: int = 32, slots: Slots | None = None) -> None:
        require(heads >= 1, f"heads must be at least 1, got {heads}")
        require(length >= 2, f"length must be at least 2, got {length}")
        super().__init__(slots)
        mean = sum(math.log(n) for n in range(1, length + 1)) / length
        self.factor = Scalars(torch.full((heads,), 1 / mean))

    def scores(self, scores: Float[Tensor, "B H Q T"], tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
        return scores * self.factor(scores) * tokens.visible.sum(-1, keepdim=True).log()
