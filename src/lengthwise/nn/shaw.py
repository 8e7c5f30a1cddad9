"""Relative position representations: a learned vector per clipped distance, added to keys (Shaw et al. 2018)."""

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
from lengthwise.nn.parameters import EmbeddingTable
from lengthwise.nn.relative_bias import distances
from lengthwise.nn.score_context import ScoreContext, at_distance
from lengthwise.nn.slots import Slots


class Shaw(ContentEncoding):
    """logit(i, j) = q_i · (k_j + Σ_ℓ A_ℓ[clip(p_i − p_j, −c, c)]) / √d, one table A_ℓ of 2c + 1 rows per level ℓ.

    c is ``clip``. The heads and the layers share the tables. The published variant that also adds vectors to values
    is left out, as in later work.

    Input: queries and keys ``[B, H, T, head_width]`` and ids, ``[B, T]`` or ``[B, T, L]``. Output: causal attention
    logits ``[B, H, T, T]``. Raises `LengthwiseError` unless ``clip`` is at least 1.

    >>> import torch
    >>> from lengthwise.nn import Shaw
    >>> q, k = torch.randn(2, 2, 4, 10, 64)
    >>> Shaw(64)(q, k, torch.arange(10).expand(2, 10)).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self, head_width: int, levels: int | Sequence[int] = 1, *, clip: int = 16, slots: Slots | None = None
    ) -> None:
        require(clip >= 1, f"clip must be at least 1, got {clip}")
        super().__init__(slots)
        self.levels, self.clip = level_indices(levels), clip
        self.tables = Modules[EmbeddingTable](EmbeddingTable(2 * clip + 1, head_width) for _ in self.levels)
        for table in self.tables:
            nn.init.normal_(table.weight, std=0.02)

    def scores(self, scores: Float[Tensor, "B H Q T"], tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
        """The logits, plus the queries' products with the vectors of the distances."""
        q = tokens.queries / math.sqrt(tokens.q.shape[-1])
        rows = torch.arange(2 * self.clip + 1, device=q.device).expand(len(q), -1)
        for level, table in zip(self.levels, self.tables, strict=True):
            distance = distances(on_level(tokens.query_ids, level), on_level(tokens.ids, level))
            products = q @ table(rows)[:, None].mT
            scores = scores + at_distance(products, distance.clamp(-self.clip, self.clip) + self.clip)
        return scores
