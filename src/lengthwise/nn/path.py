"""PaTH: products of queries and keys pass a Householder-like matrix for each token between them (Yang et al. 2025)."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.errors import require
from lengthwise.nn.content import ContentEncoding
from lengthwise.nn.score_context import ScoreContext
from lengthwise.nn.slots import Slots


class PaTH(ContentEncoding):
    """logit(i, j) = q_i · H_i H_{i−1} … H_{j+1} k_j / √d, with H_l = I − β_l w_l w_lᵀ for every head.

    w_l is a projection of rank ``rank`` of x_l (the input of the attention layer), of length 1; β_l is
    2 · sigmoid(u · x_l + b). All layers share the parameters; the authors have some per layer, and convolve w with
    those of the two tokens before, which is left out. Ids are not used. Tokens that are hidden from later ones have
    H = I.

    All products come from one triangular system, as in the paper: with S the strictly lower part of D W Wᵀ they are
    Q Kᵀ − lower(Q Wᵀ) (I + S)⁻¹ D strictly-lower(W Kᵀ), where D holds the β.

    Input: queries and keys ``[B, H, T, d]``, and x ``[B, T, width]``. Output: causal attention logits
    ``[B, H, T, T]``. Raises `LengthwiseError` unless all sizes are at least 1.

    >>> import torch
    >>> from lengthwise.nn import PaTH
    >>> q, k = torch.randn(2, 2, 4, 10, 16)
    >>> PaTH(width=64, heads=4, head_width=16)(q, k, x=torch.randn(2, 10, 64)).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(self, width: int, heads: int, head_width: int, *, rank: int = 32, slots: Slots | None = None) -> None:
        sizes = (width, heads, head_width, rank)
        require(min(sizes) >= 1, f"width, heads, head width and rank must be at least 1, got {sizes}")
        super().__init__(slots)
        self.heads = heads
        self.down = nn.Linear(width, rank, bias=False)
        self.up = nn.Linear(rank, heads * head_width, bias=False)
        self.gate = nn.Linear(width, heads)

    def scores(self, scores: Float[Tensor, "B H Q T"], tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
        """The logits with the product of the matrices between query and key."""
        w, beta = self.directions(tokens.x), self.strengths(tokens)
        q, k = tokens.queries.float(), tokens.k.float()
        by_query = (q @ w.mT).masked_fill(tokens.index[:, None] < torch.arange(w.shape[2], device=w.device), 0.0)
        by_key = beta * (w @ k.mT).tril(-1)
        system = beta * (w @ w.mT).tril(-1)
        solved = torch.linalg.solve_triangular(system, by_key, upper=False, unitriangular=True)
        return scores - (by_query @ solved).to(scores.dtype) / math.sqrt(q.shape[3])

    def directions(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B H T d"]:
        """w of every head."""
        w = self.up(self.down(x)).unflatten(2, (self.heads, -1)).transpose(1, 2)
        return functional.normalize(w.float(), dim=-1)

    def strengths(self, tokens: ScoreContext) -> Float[Tensor, "B H T 1"]:
        """β of every head, and 0 for tokens that a later query does not see though it sees an earlier one."""
        beta = 2 * torch.sigmoid(self.gate(tokens.x).float()).mT
        visible = tokens.visible if tokens.visible.ndim == 4 else tokens.visible[None, None]
        passed = visible.cumsum(-1) > 0
        later = tokens.index[:, None] > torch.arange(beta.shape[2], device=beta.device)
        hidden = (~visible & passed & later).any(-2)
        return beta.masked_fill(hidden, 0.0)[..., None]
