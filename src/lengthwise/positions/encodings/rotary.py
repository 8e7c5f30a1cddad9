"""Rotary position embedding (Su et al. 2021): attention hears differences of ids only."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lengthwise.core.errors import require
from lengthwise.positions.encodings.base import EncodingShape
from lengthwise.positions.encodings.modules import SlottedEncoding
from lengthwise.positions.encodings.specs import RoPE


class Rotary(SlottedEncoding):
    """Coordinates (t, t + d/2) turn together by id · base^(−2t/d); levels own contiguous blocks of frequencies."""

    frequencies: Tensor
    level_of: Tensor

    def __init__(self, spec: RoPE, shape: EncodingShape) -> None:
        super().__init__(shape)
        half = shape.head_width // 2
        require(
            shape.head_width % 2 == 0 and half >= len(shape.coupled),
            f"rope needs an even head width of at least {2 * len(shape.coupled)}, got {shape.head_width}; "
            "change model.width or model.heads",
        )
        frequencies = spec.base ** (-torch.arange(half, dtype=torch.float32) / half)
        level_of = torch.tensor(shape.coupled)[torch.arange(half) * len(shape.coupled) // half]
        self.register_buffer("frequencies", frequencies, persistent=False)
        self.register_buffer("level_of", level_of, persistent=False)

    def rotate(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T L"]) -> Float[Tensor, "B H T d"]:
        """Queries or keys, turned by their ids."""
        angles = ids[..., self.level_of] * self.frequencies
        cos, sin = angles.cos()[:, None].to(x.dtype), angles.sin()[:, None].to(x.dtype)
        left, right = x.chunk(2, dim=-1)
        return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1)
