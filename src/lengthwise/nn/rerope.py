"""ReRoPE and leaky ReRoPE: distances are clipped, or grow more slowly, beyond a limit (Su 2023)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.core.errors import require
from lengthwise.nn.rope_scores import RotaryScores, ids_of_level
from lengthwise.nn.score_context import ScoreContext
from lengthwise.nn.slots import Slots


class ReRoPE(RotaryScores):
    """Distances below ``near`` as in `Rotary`; a larger one, Δ, becomes near + leak · (Δ − near).

    ``leak`` 0 is ReRoPE, a number between 0 and 1 leaky ReRoPE. It needs no training. Ids that fall (negative
    distances) stay as they are.

    Input: queries and keys ``[B, H, T, head_width]`` and ids, ``[B, T]`` or ``[B, T, L]``. Output: causal attention
    logits ``[B, H, T, T]``. Has no parameters. Raises `LengthwiseError` as `Rotary` does, and unless near ≥ 1 and
    0 ≤ leak ≤ 1.

    >>> import torch
    >>> from lengthwise.nn import ReRoPE
    >>> q, k = torch.randn(2, 2, 4, 10, 16)
    >>> ReRoPE(16, near=4)(q, k).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self,
        head_width: int,
        levels: int | Sequence[int] = 1,
        *,
        near: int = 512,
        leak: float = 0.0,
        base: float = 10_000.0,
        slots: Slots | None = None,
    ) -> None:
        require(near >= 1, f"near must be at least 1, got {near}")
        require(0 <= leak <= 1, f"leak must be between 0 and 1, got {leak}")
        super().__init__(head_width, levels, base, slots)
        self.near, self.leak = near, leak

    def level_logits(
        self, q: Float[Tensor, "B H Q d"], k: Float[Tensor, "B H T d"], tokens: ScoreContext, level: int
    ) -> Float[Tensor, "B H Q T"]:
        """Two maps of logits, each where its distances are."""
        q_ids, k_ids = ids_of_level(tokens, level)
        far = self.product(q, k, self.near * (1 - self.leak) + self.leak * q_ids, self.leak * k_ids)
        near = (q_ids[:, :, None] - k_ids[:, None, :] < self.near)[:, None]
        return torch.where(near, self.product(q, k, q_ids, k_ids), far)
