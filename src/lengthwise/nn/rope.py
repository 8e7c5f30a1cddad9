"""Rotary position embedding, RoPE: queries and keys rotated by their ids (Su et al. 2021)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor

from lengthwise.core.errors import require
from lengthwise.nn.base import PositionEncoding
from lengthwise.nn.levels import all_levels, level_indices
from lengthwise.nn.slots import Slots


class Rotary(PositionEncoding):
    """Coordinates (c, c + d/2) of queries and keys are rotated by the angle p · base^(−2c/d), c = 0 … d/2 − 1.

    Input: queries or keys ``[B, H, T, head_width]`` and their tokens' ids, ``[B, T]`` or ``[B, T, L]``. Output: the
    same shape. The product of a query and a key then depends on the difference of their ids only. This is the "half"
    layout (GPT-NeoX, Llama), not the one that rotates neighbouring coordinates. Several levels share the coordinates:
    each has a contiguous block of them. Has no parameters.

    Raises `LengthwiseError` unless ``head_width`` is even and has a pair of coordinates for each level, and ``base``
    is positive and finite.

    >>> import torch
    >>> from lengthwise.nn import Rotary
    >>> rotary, ids = Rotary(64), torch.arange(10).expand(2, 10)
    >>> q, k = torch.randn(2, 2, 4, 10, 64)
    >>> (rotary(q, ids) @ rotary(k, ids).mT).shape
    torch.Size([2, 4, 10, 10])
    """

    frequencies: Tensor
    level_of: Tensor

    def __init__(
        self, head_width: int, levels: int | Sequence[int] = 1, *, base: float = 10_000.0, slots: Slots | None = None
    ) -> None:
        used, half = level_indices(levels), head_width // 2
        require(0 < base < math.inf, f"base must be finite and above 0, got {base}")
        require(
            head_width % 2 == 0 and half >= len(used),
            f"rope needs an even head width of at least {2 * len(used)}, got {head_width}; "
            "change the width or the number of heads",
        )
        super().__init__(slots)
        self.base, self.levels = base, used
        frequencies = base ** (-torch.arange(half, dtype=torch.float32) / half)
        level_of = torch.tensor(used, dtype=torch.long)[torch.arange(half) * len(used) // half]
        self.register_buffer("frequencies", frequencies, persistent=False)
        self.register_buffer("level_of", level_of, persistent=False)

    def forward(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        return self.rotate(x, ids)

    def rotate(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        return rotated(x, self.angles(all_levels(ids)))

    def angles(self, ids: Num[Tensor, "B T L"]) -> Float[Tensor, "B T f"]:
        """The angle of each pair of coordinates; ids may be fractions."""
        return ids[..., self.level_of] * self.frequencies


def rotated(x: Float[Tensor, "B H T d"], angles: Float[Tensor, "B T f"]) -> Float[Tensor, "B H T d"]:
    """Coordinates (c, c + d/2) rotated by the angles of their tokens."""
    cos, sin = angles.cos()[:, None].to(x.dtype), angles.sin()[:, None].to(x.dtype)
    left, right = x.chunk(2, dim=-1)
    return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1)
