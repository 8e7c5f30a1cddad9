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
        batch, _, tokens, _ = q.shape
        if ids is None:
            ids = torch.arange(tokens, device=q.device).expand(batch, tokens)
        if x is None:
            x = q.new_zeros(batch, tokens, 0)
        return content_logits(self, ScoreContext.of_last(tokens, q, k, x, ids))


def content_logits(encoding: PositionEncoding, tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
    """q·k/√d, changed by ``encoding.scores``, and −∞ at keys that a query does not see."""
    plain = tokens.queries @ tokens.k.mT / math.sqrt(tokens.k.shape[3])
    return encoding.scores(plain, tokens).masked_fill(~tokens.visible, -math.inf)
