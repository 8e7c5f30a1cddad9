"""The specification of `lengthwise.nn.ReRoPE`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("rerope")
@config
class ReRoPE(EncodingSpec):
    """RoPE with distances clipped at ``near``, or growing by ``leak`` beyond it (Su 2023)."""

    summary = "RoPE with distances clipped beyond a limit"
    extends_rope = True

    near: int = 8
    leak: float = 0.0
    base: float = 10_000.0

    def __post_init__(self) -> None:
        if self.near < 1:
            raise ValueError(f"rerope needs near of at least 1, got {self.near}")
        if not 0 <= self.leak <= 1:
            raise ValueError(f"rerope needs a leak between 0 and 1, got {self.leak}")
        if not 0 < self.base < math.inf:
            raise ValueError(f"rerope needs a finite base > 0, got {self.base}")

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module without parameters, apart from those of ``fixed`` levels."""
        from lengthwise import nn

        return nn.ReRoPE(
            shape.head_width, shape.coupled, near=self.near, leak=self.leak, base=self.base, slots=self.slots(shape)
        )
