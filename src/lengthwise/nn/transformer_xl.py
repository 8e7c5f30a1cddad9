"""Transformer-XL: products of queries with projected sinusoids of the distance (Dai et al. 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lengthwise.core.errors import require
from lengthwise.nn.content import ContentEncoding
from lengthwise.nn.levels import level_indices, on_level
from lengthwise.nn.module_list import Modules
from lengthwise.nn.parameters import EmbeddingTable
from lengthwise.nn.score_context import ScoreContext
from lengthwise.nn.slots import Slots


class TransformerXL(ContentEncoding):
    """logit(i, j) = [(q_i + u) · k_j + Σ_ℓ (q_i + v) · W_ℓ R(p_i − p_j)] / √d, R sines and cosines of the distance.

    u and v are learned per head, W_ℓ per head and level of the ids; all layers share them (the authors have a W per
    layer). R has half sines and half cosines of frequencies 10000^(−2c/width). The transposed matrices are stored.

    Input: queries and keys ``[B, H, T, head_width]`` and ids, ``[B, T]`` or ``[B, T, L]``. Output: causal attention
    logits ``[B, H, T, T]``. Raises `LengthwiseError` unless ``width`` is even.

    >>> import torch
    >>> from lengthwise.nn import TransformerXL
    >>> q, k = torch.randn(2, 2, 4, 10, 16)
    >>> TransformerXL(heads=4, head_width=16)(q, k, torch.arange(10).expand(2, 10)).shape
    torch.Size([2, 4, 10, 10])
    """

    frequencies: Tensor

    def __init__(
        self,
        heads: int,
        head_width: int,
        levels: int | Sequence[int] = 1,
        *,
        width: int | None = None,
        slots: Slots | None = None,
    ) -> None:
        width = heads * head_width if width is None else width
        require(width >= 2 and width % 2 == 0, f"width must be even and at least 2, got {width}")
        super().__init__(slots)
        self.heads, self.levels = heads, level_indices(levels)
        self.content, self.position = EmbeddingTable(1, heads * head_width), EmbeddingTable(1, heads * head_width)
        for table in (self.content, self.position):
            nn.init.normal_(table.weight, std=0.02)
        self.project = Modules[nn.Linear](
            nn.Linear(head_width, width, bias=False) for _ in range(len(self.levels) * heads)
        )
        frequencies = 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float32) / width)
        self.register_buffer("frequencies", frequencies, persistent=False)

    def scores(self, scores: Float[Tensor, "B H Q T"], tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
        """The logits, plus u · k and the products of q + v with the projected sinusoids."""
        factor = 1 / math.sqrt(tokens.q.shape[-1])
        first = torch.zeros(len(tokens.q), 1, dtype=torch.long, device=scores.device)
        scores = scores + factor * self._by_head(self.content(first)) @ tokens.k.mT
        heads = (factor * (tokens.queries + self._by_head(self.position(first)))).unbind(1)
        for number, level in enumerate(self.levels):
            start = number * self.heads
            projected = torch.stack([self.project[start + head](q) for head, q in enumerate(heads)], dim=1)
            ids = on_level(tokens.query_ids, level), on_level(tokens.ids, level)
            scores = scores + self._with_sinusoids(projected, *ids)
        return scores

    def _by_head(self, rows: Float[Tensor, "B N E"]) -> Float[Tensor, "B H N d"]:
        return rows.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def _with_sinusoids(
        self, x: Float[Tensor, "B H Q W"], queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B H Q T"]:
        """x · R(distance), by the addition theorems: sin(a − b) and cos(a − b) are products of those of a and b."""
        a, b = (ids[:, None, :, None] * self.frequencies for ids in (queries, keys))
        sine, cosine = x.chunk(2, dim=-1)
        rotated = torch.cat([sine * a.sin() + cosine * a.cos(), cosine * a.sin() - sine * a.cos()], dim=-1)
        return rotated @ torch.cat([b.cos(), b.sin()], dim=-1).mT
