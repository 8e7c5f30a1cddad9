"""The specification of `lengthwise.nn.DynamicNTK`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("dynamic-ntk")
@config
class DynamicNTK(EncodingSpec):
    """RoPE whose base grows with the tokens so far beyond the trained ``length`` (emozilla 2023)."""

    summary = "RoPE whose base grows with the number of tokens beyond the trained length"
    extends_rope = True
    translation_invariant = False

    factor: float = 1.0
    length: int = 16
    base: float = 10_000.0

    def __post_init__(self) -> None:
        if not 1 <= self.factor < math.inf:
            raise ValueError(f"dynamic-ntk needs a factor of at least 1, got {self.factor}")
        if not 0 < self.base < math.inf:
            raise ValueError(f"dynamic-ntk needs a finite base > 0, got {self.base}")
        if self.length < 1:
            raise ValueError(f"dynamic-ntk needs a trained length of at least 1, got {self.length}")

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module without parameters, apart from those of ``fixed`` levels."""
        from lengthwise import nn

        return nn.DynamicNTK(
            shape.head_width,
            shape.coupled,
            factor=self.factor,
            length=self.length,
            base=self.base,
            slots=self.slots(shape),
        )
