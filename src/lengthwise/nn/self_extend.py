"""Self-Extend: exact distances nearby, grouped ones far away, so that all stay small (Jin et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.core.errors import require
from lengthwise.nn.rope_scores import RotaryScores, ids_of_level
from lengthwise.nn.score_context import ScoreContext
from lengthwise.nn.slots import Slots


class SelfExtend(RotaryScores):
    """Distances below ``near`` as in `Rotary`; others become ⌊p/group⌋ − ⌊p′/group⌋ + near − ⌊near/group⌋.

    It needs no training. The first of N tokens counts as ⌊(N − 1)/group⌋ + near − ⌊near/group⌋ away from the last;
    `lengthwise.extend` chooses the smallest group for which that was trained. Ids that fall (negative distances) stay
    as they are.

    Input: queries and keys ``[B, H, T, head_width]`` and ids, ``[B, T]`` or ``[B, T, L]``. Output: causal attention
    logits ``[B, H, T, T]``. Has no parameters. Raises `LengthwiseError` as `Rotary` does, and for ``near`` or
    ``group`` below 1.

    >>> import torch
    >>> from lengthwise.nn import SelfExtend
    >>> q, k = torch.randn(2, 2, 4, 10, 16)
    >>> SelfExtend(16, near=4, group=3)(q, k).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self,
        head_width: int,
        levels: int | Sequence[int] = 1,
        *,
        near: int = 512,
        group: int = 4,
        base: float = 10_000.0,
        slots: Slots | None = None,
    ) -> None:
        require(near >= 1 and group >= 1, f"near and group must be at least 1, got {near} and {group}")
        super().__init__(head_width, levels, base, slots)
        self.near, self.group = near, group

    def level_logits(
        self, q: Float[Tensor, "B H Q d"], k: Float[Tensor, "B H T d"], tokens: ScoreContext, level: int
    ) -> Float[Tensor, "B H Q T"]:
        """Two maps of logits, each where its distances are."""
        q_ids, k_ids = ids_of_level(tokens, level)
        shift = self.near - self.near // self.group
        far = self.product(q, k, q_ids // self.group + shift, k_ids // self.group)
        near = (q_ids[:, :, None] - k_ids[:, None, :] < self.near)[:, None]
        return torch.where(near, self.product(q, k, q_ids, k_ids), far)
