"""The specification of `lengthwise.nn.NTKAware`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("ntk")
@config
class NTK(EncodingSpec):
    """RoPE with a base that grows with ``factor``: NTK-aware scaling (bloc97 2023)."""

    summary = "RoPE with a larger base: extends the context of a trained model"
    extends_rope = True

    factor: float = 4.0
    base: float = 10_000.0

    def __post_init__(self) -> None:
        if not 1 <= self.factor < math.inf:
            raise ValueError(f"ntk needs a factor of at least 1, got {self.factor}")
        if not 0 < self.base < math.inf:
            raise ValueError(f"ntk needs a finite base > 0, got {self.base}")

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module without parameters, apart from those of ``fixed`` levels."""
        from lengthwise import nn

        return nn.NTKAware(shape.head_width, shape.coupled, factor=self.factor, base=self.base, slots=self.slots(shape))
