"""Positions from content instead of ids.

CoPE (Golovneva et al. 2024), PaTH (Yang et al. 2025), the forgetting transformer, FoX (Lin et al. 2025), selective
attention (Leviathan et al. 2024), scalable softmax (Nakanishi 2025) and adaptive-scalable entmax (Vasylenko et al.
2025).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.errors import require
from lengthwise.nn.base import EmbeddingTable, PositionEncoding, Scalars, ScoreContext, Slots, at_distance, sum_after


class ContentEncoding(PositionEncoding):
    """Subclasses implement `scores`; calling the module gives causal attention logits.

    Input: queries and keys ``[B, H, T, d]``; for some also ids, ``[B, T]`` or ``[B, T, L]``, or the input of the
    attention layer, x ``[B, T, width]``. Output: attention logits ``[B, H, T, T]``.
    """

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


class CoPE(ContentEncoding):
    """logit(i, j) = s_ij + (1 − f) · q_i·e[⌊π⌋] + f · q_i·e[⌈π⌉], s_ij = q_i·k_j/√d, f = π − ⌊π⌋.

    π_ij = min(Σ_{l=j..i} sigmoid(s_il), positions − 1) is the position of key j: how many keys from it up to the query
    pass the gate. The table e starts at 0; heads and layers share it. Ids are not used.

    Raises `LengthwiseError` unless ``positions`` is at least 2.

    >>> q, k = torch.randn(2, 2, 4, 10, 64)
    >>> CoPE(64)(q, k).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(self, head_width: int, *, positions: int = 64, slots: Slots | None = None) -> None:
        require(positions >= 2, f"positions must be at least 2, got {positions}")
        super().__init__(slots)
        self.positions = positions
        self.table = EmbeddingTable(positions, head_width)
        nn.init.zeros_(self.table.weight)

    def scores(self, scores: Float[Tensor, "B H Q T"], tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        gates = scores.sigmoid() * tokens.visible
        position = sum_after(gates).clamp(max=self.positions - 1)
        below = position.floor()
        share = position - below
        rows = torch.arange(self.positions, device=scores.device).expand(len(scores), -1)
        products = tokens.queries @ self.table(rows)[:, None].mT
        lower, upper = (at_distance(products, row.long()) for row in (below, position.ceil()))
        return scores + (1 - share) * lower + share * upper


class PaTH(ContentEncoding):
    """logit(i, j) = q_i · H_i H_{i−1} … H_{j+1} k_j / √d, with H_l = I − β_l w_l w_lᵀ for every head.

    w_l is a projection of rank ``rank`` of x_l (the input of the attention layer), of length 1; β_l is
    2 · sigmoid(u · x_l + b). All layers share the parameters; the authors have some per layer, and convolve w with
    those of the two tokens before, which is left out. Ids are not used. Tokens that are hidden from later ones have
    H = I.

    All products come from one triangular system, as in the paper: with S the strictly lower part of D W Wᵀ they are
    Q Kᵀ − lower(Q Wᵀ) (I + S)⁻¹ D strictly-lower(W Kᵀ), where D holds the β.

    Needs ``x``. Raises `LengthwiseError` unless all sizes are at least 1.

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
        w, beta = self.directions(tokens.x), self.strengths(tokens)
        q, k = tokens.queries.float(), tokens.k.float()
        by_query = (q @ w.mT).masked_fill(tokens.index[:, None] < torch.arange(w.shape[2], device=w.device), 0.0)
        by_key = beta * (w @ k.mT).tril(-1)
        system = beta * (w @ w.mT).tril(-1)
        solved = torch.linalg.solve_triangular(system, by_key, upper=False, unitriangular=True)
        return scores - (by_query @ solved).to(scores.dtype) / math.sqrt(q.shape[3])

    def directions(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B H T d"]:
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


class ForgettingBias(ContentEncoding):
    """logit(i, j) + Σ_{l=j+1..i} ln f_l, with forget gates f_l = sigmoid(w_h · x_l + b_h) per head.

    x is the input of the attention layer. b starts at ``bias``, so that gates are nearly open; all layers share w and
    b (the authors have one per layer). Ids are not used.

    Needs ``x``. Raises `LengthwiseError` without heads or width.

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
        log_gates = functional.logsigmoid(self.gate(tokens.x).float()).mT[:, :, None]
        seen = torch.where(tokens.visible, log_gates, 0.0)
        return scores + (sum_after(seen) - seen)


class SelectiveAttention(ContentEncoding):
    """logit(i, j) − Σ_{l<i} S_lj, S_lj = max(0, q_l·k_j/√d) of the first head for 0 < j < l, and 0 elsewhere.

    The first visible token and the token itself are never masked. Has no parameters; ids are not used.

    Raises nothing. One new token costs T² products of the first head's queries and keys, since the sums of earlier
    tokens are made anew.

    >>> q, k = torch.randn(2, 2, 4, 10, 64)
    >>> SelectiveAttention()(q, k).shape
    torch.Size([2, 4, 10, 10])
    """

    def scores(self, scores: Float[Tensor, "B H Q T"], tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
        q, k = tokens.q[:, :1].float(), tokens.k[:, :1].float()
        selected = functional.relu(q @ k.mT / math.sqrt(q.shape[3])).float().tril(-1)
        # A token that is hidden from the last query is hidden from all, and masks nothing.
        selected = selected * tokens.visible[..., -1:, :].mT
        masked = (selected.cumsum(-2) - selected)[:, :, tokens.index]
        return scores - masked * (tokens.visible.cumsum(-1) > 1)


class ScalableSoftmax(ContentEncoding):
    """logit(i, j) · s_h · ln n_i, n_i the number of keys that query i sees, s_h learned per head.

    s starts at 1 / (the mean of ln n over n = 1 … ``length``), so that logits keep their size on average at about the
    training length. All layers share s (the author has one per layer). Ids are not used.

    Raises `LengthwiseError` unless ``length`` is at least 2.

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


class ASEntmax(ContentEncoding):
    """Weights are 1.5-entmax((1 + β_i · ln(n_i + 1)^γ_i) · logits): many are exactly 0 (Vasylenko et al. 2025).

    n_i is the number of keys that query i sees, and per head β_i = softplus(w_h · x_i + a_h) and γ_i = ``reach`` ·
    tanh(u_h · x_i + b_h), x the input of the attention layer, as in the authors' code for arXiv 2506.16640; there each
    layer has its own w, u, a and b, here all share them.
    1.5-entmax(z) is p = max(0, z/2 − τ)² with the τ for which p sums to 1 (Peters et al. 2019); the logits returned
    are ln p, or −10,000 for 0, whose softmax is p. Ids are not used.

    Needs ``x``. Raises `LengthwiseError` without heads or width.

    >>> q, k = torch.randn(2, 2, 4, 10, 16)
    >>> ASEntmax(width=64, heads=4)(q, k, x=torch.randn(2, 10, 64)).softmax(-1).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(self, width: int, heads: int, *, reach: float = 2.0, slots: Slots | None = None) -> None:
        require(width >= 1 and heads >= 1, f"width and heads must be at least 1, got {width} and {heads}")
        super().__init__(slots)
        self.reach = reach
        self.beta, self.gamma = nn.Linear(width, heads), nn.Linear(width, heads)

    def scores(self, scores: Float[Tensor, "B H Q T"], tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
        x = tokens.x[:, tokens.index]
        beta = functional.softplus(self.beta(x).float()).mT[..., None]
        gamma = self.reach * self.gamma(x).float().tanh().mT[..., None]
        scaled = scores * (1 + beta * tokens.visible.sum(-1, keepdim=True).log1p() ** gamma)
        weights = _Entmax15.apply(scaled.masked_fill(~tokens.visible, HIDDEN))
        assert isinstance(weights, Tensor)
        return weights.masked_fill(weights == 0, 1.0).log().masked_fill(weights == 0, HIDDEN)


HIDDEN = -1e4
"""A logit so low that entmax and softmax give it no weight, and whose square is no infinity."""


class _Entmax15(torch.autograd.Function):
    """1.5-entmax along the last axis, exactly, by sorting. With s = √p: ∂z = s ⊙ g − s · Σ(s ⊙ g) / Σ s."""

    @staticmethod
    def forward(ctx: Any, z: Tensor) -> Tensor:
        z = (z - z.amax(-1, keepdim=True)).clamp(min=HIDDEN) / 2
        ordered = z.sort(-1, descending=True).values
        count = torch.arange(1, z.shape[-1] + 1, device=z.device, dtype=z.dtype)
        mean, square = ordered.cumsum(-1) / count, ordered.square().cumsum(-1) / count
        thresholds = mean - ((1 - count * (square - mean.square())) / count).clamp(min=0).sqrt()
        support = (thresholds <= ordered).sum(-1, keepdim=True)
        roots = (z - thresholds.gather(-1, support - 1)).clamp(min=0)
        ctx.save_for_backward(roots)
        return roots.square()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:  # type: ignore[override]
        (roots,) = ctx.saved_tensors
        along = roots * grads[0]
        return along - roots * (along.sum(-1, keepdim=True) / roots.sum(-1, keepdim=True))
