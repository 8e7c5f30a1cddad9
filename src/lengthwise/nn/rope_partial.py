"""Partial RoPE: a share of the coordinates of queries and keys is rotated (Black et al. 2022, GPT-NeoX)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lengthwise.core.errors import require
from lengthwise.nn.base import PositionEncoding
from lengthwise.nn.levels import level_indices
from lengthwise.nn.rope import Rotary
from lengthwise.nn.slots import Slots


class PartialRotary(PositionEncoding):
    """The first 2 · round(share · d / 2) coordinates of queries and keys are rotated as by `Rotary`, the rest is kept.

    Input: queries or keys ``[B, H, T, head_width]`` and their tokens' ids, ``[B, T]`` or ``[B, T, L]``. Output: the
    same shape. Has no parameters. GPT-NeoX and GPT-J rotate a quarter. Raises `LengthwiseError` unless ``share`` is
    above 0 and at most 1, and what it rotates has a pair of coordinates for each level.

    >>> import torch
    >>> from lengthwise.nn import PartialRotary
    >>> rotary, ids = PartialRotary(64, share=0.25), torch.arange(10).expand(2, 10)
    >>> q = torch.randn(2, 4, 10, 64)
    >>> rotated = rotary(q, ids)
    >>> rotated.shape, bool((rotated[..., 16:] == q[..., 16:]).all())
    (torch.Size([2, 4, 10, 64]), True)
    """

    def __init__(
        self,
        head_width: int,
        levels: int | Sequence[int] = 1,
        *,
        share: float = 0.5,
        base: float = 10_000.0,
        slots: Slots | None = None,
    ) -> None:
        require(0 < share <= 1, f"share must be above 0 and at most 1, got {share}")
        rotated = 2 * round(share * head_width / 2)
        pairs = len(level_indices(levels))
        require(
            2 * pairs <= rotated <= head_width,
            f"a share of {share} of head width {head_width} rotates {rotated} coordinates, and {2 * pairs} are "
            "needed; raise the share or the width, or use fewer heads",
        )
        super().__init__(slots)
        self.rotated = rotated
        self.rotary = Rotary(rotated, levels, base=base)

    def forward(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        return self.rotate(x, ids)

    def rotate(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        return torch.cat([self.rotary.rotate(x[..., : self.rotated], ids), x[..., self.rotated :]], dim=-1)
