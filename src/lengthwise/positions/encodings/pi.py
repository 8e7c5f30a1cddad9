"""The specification of `lengthwise.nn.PositionInterpolation`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.bounds import AboveZero, Extension
from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("pi")
@config
class PI(EncodingSpec):
    """RoPE with ids divided by ``factor``: position interpolation (Chen et al. 2023)."""

    summary = "RoPE with ids divided by a factor: extends the context of a trained model"
    extends_rope = True

    factor: Extension = 4.0
    base: AboveZero = 10_000.0

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module without parameters, apart from those of ``fixed`` levels."""
        from lengthwise import nn

        return nn.PositionInterpolation(
            shape.head_width, shape.coupled, factor=self.factor, base=self.base, slots=self.slots(shape)
        )
