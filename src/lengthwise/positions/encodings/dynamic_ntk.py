"""The specification of `lengthwise.nn.DynamicNTK`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.bounds import AboveZero, AtLeast1, Extension
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

    factor: Extension = 1.0
    length: AtLeast1 = 16
    base: AboveZero = 10_000.0

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
