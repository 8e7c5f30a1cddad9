"""Selective attention: tokens that mask earlier tokens for all later ones (Leviathan et al. 2024)."""

from __future__ import annotations

import math

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from lengthwise.nn.content import ContentEncoding
from lengthwise.nn.score_context import ScoreContext


class SelectiveAttention(ContentEncoding):
    """logit(i, j) − Σ_{l<i} S_lj, S_lj = max(0, q_l·k_j/√d) of the first head for 0 < j < l, and 0 elsewhere.

    The first visible token and the token itself are never masked. Has no parameters; ids are not used.

    Input: queries and keys ``[B, H, T, d]``. Output: causal attention logits ``[B, H, T, T]``. Raises nothing. One
    new token costs T² products of the first head's queries and keys, since the sums of earlier tokens are made anew.

    >>> import torch
    >>> from lengthwise.nn import SelectiveAttention
    >>> q, k = torch.randn(2, 2, 4, 10, 64)
    >>> SelectiveAttention()(q, k).shape
    torch.Size([2, 4, 10, 10])
    """

    def scores(self, scores: Float[Tensor, "B H Q T"], tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
        """The logits, minus what earlier tokens have masked."""
        q, k = tokens.q[:, :1].float(), tokens.k[:, :1].float()
        selected = functional.relu(q @ k.mT / math.sqrt(q.shape[3])).float().tril(-1)
        # A token that is hidden from the last query is hidden from all, and masks nothing.
        selected = selected * tokens.visible[..., -1:, :].mT
        masked = (selected.cumsum(-2) - selected)[:, :, tokens.index]
        return scores - masked * (tokens.visible.cumsum(-1) > 1)
