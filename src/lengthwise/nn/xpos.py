"""xPos: RoPE whose rotated pairs also shrink with the distance (Sun et al. 2022)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lengthwise.core.errors import require
from lengthwise.nn.levels import all_levels
from lengthwise.nn.rope import Rotary
from lengthwise.nn.slots import Slots


class XPos(Rotary):
    """As `Rotary`; then pair c of a query is multiplied by ζ_c^(p / scale), that of a key by ζ_c^(−p / scale).

    ζ_c = (2c/d + γ) / (1 + γ), γ = 0.4. The product of query and key depends on the difference of their ids only, and
    pairs that rotate fast shrink with it. Keys with larger ids than the query's (coupled ids fall) are magnified.

    Input: queries ``[B, H, T, head_width]`` and their tokens' ids, ``[B, T]`` or ``[B, T, L]``; for keys, call
    `rotate_keys`. Output: the same shape. Has no parameters. Raises `LengthwiseError` as `Rotary` does, and unless
    ``scale`` is positive and finite.

    >>> import torch
    >>> from lengthwise.nn import XPos
    >>> xpos, ids = XPos(64), torch.arange(10).expand(2, 10)
    >>> q, k = torch.randn(2, 2, 4, 10, 64)
    >>> (xpos(q, ids) @ xpos.rotate_keys(k, ids).mT).shape
    torch.Size([2, 4, 10, 10])
    """

    log_decay: Tensor

    def __init__(
        self,
        head_width: int,
        levels: int | Sequence[int] = 1,
        *,
        base: float = 10_000.0,
        scale: float = 512.0,
        slots: Slots | None = None,
    ) -> None:
        require(0 < scale < math.inf, f"scale must be finite and above 0, got {scale}")
        super().__init__(head_width, levels, base=base, slots=slots)
        half = head_width // 2
        decay = (torch.arange(half) / half + 0.4) / 1.4
        self.register_buffer("log_decay", decay.log() / scale, persistent=False)

    def rotate(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        """The rotated and scaled queries."""
        return super().rotate(x, ids) * self._factors(ids).to(x.dtype)

    def rotate_keys(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        """The rotated keys, scaled by the inverse factors."""
        return super().rotate(x, ids) * self._factors(-ids).to(x.dtype)

    def _factors(self, ids: Tensor) -> Float[Tensor, "B 1 T d"]:
        return torch.exp(all_levels(ids)[..., self.level_of] * self.log_decay).repeat(1, 1, 2)[:, None]
