"""Transformer-XL: products of queries with projected sinusoids of the distance (Dai et al. 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lengthwise.core.errors import require
from lengthwise.nn.content import ContentEncoding
from lengthwise.nn.levels import level_indices, on_level
from lengthwise.nn.module_list import Modules
from lengthwise.nn.parameters import Table
from lengthwise.nn.relative_bias import distances
from lengthwise.nn.score_context import ScoreContext, at_distance
from lengthwise.nn.slots import Slots


class TransformerXL(ContentEncoding):
    """logit(i, j) = [(q_i + u) · k_j + Σ_ℓ (q_i + v) · W_ℓ R(p_i − p_j)] / √d, R sines and cosines of the distance.

    u and v are learned per head, W_ℓ per level of the ids; all layers share them (the authors have a W per layer).
    R has half sines and half cosines of frequencies 10000^(−2c/width).

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
        self.content, self.position = Table(1, heads * head_width), Table(1, heads * head_width)
        for table in (self.content, self.position):
            nn.init.normal_(table.weight, std=0.02)
        self.project = Modules[nn.Linear](nn.Linear(width, heads * head_width, bias=False) for _ in self.levels)
        frequencies = 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float32) / width)
        self.register_buffer("frequencies", frequencies, persistent=False)

    def scores(self, scores: Float[Tensor, "B H Q T"], tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
        """The logits, plus u · k and the products of q + v with the projected sinusoids."""
        batch, factor = len(tokens.q), 1 / math.sqrt(tokens.q.shape[-1])
        first = torch.zeros(batch, 1, dtype=torch.long, device=scores.device)
        scores = scores + factor * self._by_head(self.content(first)) @ tokens.k.mT
        q = factor * (tokens.queries + self._by_head(self.position(first)))
        for level, project in zip(self.levels, self.project, strict=True):
            distance = distances(on_level(tokens.query_ids, level), on_level(tokens.ids, level))
            seen = distance[:, None].masked_fill(~tokens.visible, 0)[:, 0]
            low, high = int(seen.min()), int(seen.max())
            angles = torch.arange(low, high + 1, device=scores.device)[:, None] * self.frequencies
            sinusoids = torch.cat([angles.sin(), angles.cos()], dim=-1).expand(batch, -1, -1)
            products = q @ self._by_head(project(sinusoids)).mT
            scores = scores + at_distance(products, seen - low)
        return scores

    def _by_head(self, rows: Float[Tensor, "B N E"]) -> Float[Tensor, "B H N d"]:
        return rows.unflatten(2, (self.heads, -1)).transpose(1, 2)
