"""CoPE, contextual position encoding: positions that count the keys that pass a gate (Golovneva et al. 2024)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lengthwise.core.errors import require
from lengthwise.nn.content import ContentEncoding
from lengthwise.nn.parameters import EmbeddingTable
from lengthwise.nn.score_context import ScoreContext, at_distance, sum_after
from lengthwise.nn.slots import Slots


class CoPE(ContentEncoding):
    """logit(i, j) = s_ij + (1 − f) · q_i·e[⌊π⌋] + f · q_i·e[⌈π⌉], s_ij = q_i·k_j/√d, f = π − ⌊π⌋.

    π_ij = min(Σ_{l=j..i} sigmoid(s_il), positions − 1) is the position of key j: how many keys from it up to the query
    pass the gate. The table e starts at 0; heads and layers share it. Ids are not used.

    Input: queries and keys ``[B, H, T, head_width]``. Output: causal attention logits ``[B, H, T, T]``. Raises
    `LengthwiseError` unless ``positions`` is at least 2.

    >>> import torch
    >>> from lengthwise.nn import CoPE
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
        """The logits, plus the queries' products with interpolated rows."""
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        gates = scores.sigmoid() * tokens.visible
        position = sum_after(gates).clamp(max=self.positions - 1)
        below = position.floor()
        share = position - below
        rows = torch.arange(self.positions, device=scores.device).expand(len(scores), -1)
        products = tokens.queries @ self.table(rows)[:, None].mT
        lower, upper = (at_distance(products, row.long()) for row in (below, position.ceil()))
        return scores + (1 - share) * lower + share * upper
