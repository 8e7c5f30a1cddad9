"""`ContentEncoding`, the base class of encodings that change attention logits as a function of the tokens' content."""

from __future__ import annotations

import math
from abc import abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lengthwise.nn.base import PositionEncoding
from lengthwise.nn.score_context import ScoreContext


class ContentEncoding(PositionEncoding):
    """Subclasses implement `scores`; calling the module gives causal attention logits."""

    @abstractmethod
    def scores(self, scores: Float[Tensor, "B H Q T"], tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
        """The changed attention logits."""

    def forward(
        self,
        q: Float[Tensor, "B H T d"],
        k: Float[Tensor, "B H T d"],
        ids: Int[Tensor, "B T *L"] | None = None,
        x: Float[Tensor, "B T D"] | None = None,
    ) -> Float[Tensor, "B H T T"]:
        """Attention logits, with −∞ at keys after the query: ``softmax(logits, -1) @ v`` is the attention's output.

        Ids are 0, 1, 2, … unless given. ``x``, the input of the attention layer, is needed by `ForgettingBias` only.
        """
        batch, _, tokens, width = q.shape
        if ids is None:
            ids = torch.arange(tokens, device=q.device).expand(batch, tokens)
        if x is None:
            x = q.new_zeros(batch, tokens, 0)
        context = ScoreContext.causal(q, k, x, ids)
        logits = self.scores(q @ k.mT / math.sqrt(width), context)
        return logits.masked_fill(~context.visible, -math.inf)
