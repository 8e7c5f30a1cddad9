"""FoX, the forgetting transformer: attention that decays by learned forget gates (Lin et al. 2025)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.errors import require
from lengthwise.nn.content import ContentEncoding
from lengthwise.nn.score_context import ScoreContext, sum_after
from lengthwise.nn.slots import Slots


class ForgettingBias(ContentEncoding):
    """logit(i, j) + Σ_{l=j+1..i} ln f_l, with forget gates f_l = sigmoid(w_h · x_l + b_h) per head.

    x is the input of the attention layer. b starts at ``bias``, so that gates are nearly open; all layers share w and
    b (the authors have one per layer). Ids are not used.

    Input: queries and keys ``[B, H, T, d]``, and x ``[B, T, width]``. Output: causal attention logits
    ``[B, H, T, T]``. Raises `LengthwiseError` without heads or width.

    >>> import torch
    >>> from lengthwise.nn import ForgettingBias
    >>> q, k = torch.randn(2, 2, 4, 10, 16)
    >>> ForgettingBias(width=64, heads=4)(q, k, x=torch.randn(2, 10, 64)).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(self, width: int, heads: int, *, bias: float = 5.0, slots: Slots | None = None) -> None:
        require(width >= 1 and heads >= 1, f"width and heads must be at least 1, got {width} and {heads}")
        super().__init__(slots)
        self.gate = nn.Linear(width, heads)
        nn.init.constant_(self.gate.bias, bias)

    def scores(self, scores: Float[Tensor, "B H Q T"], tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
        """The logits, plus the sum of ln f over the keys after the key, up to the query."""
        log_gates = functional.logsigmoid(self.gate(tokens.x).float()).mT[:, :, None]
        seen = torch.where(tokens.visible, log_gates, 0.0)
        return scores + (sum_after(seen) - seen)
