"""Settings of the encoding `xpos`; its formula is `XPos` in `nn/xpos.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.bounds import AboveZero
from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("xpos")
@config
class XPos(EncodingSpec):
    """RoPE with factors that decay with the distance, faster for pairs that rotate faster (Sun et al. 2022)."""

    summary = "RoPE whose rotated pairs also shrink with the distance"

    base: AboveZero = 10_000.0
    scale: AboveZero = 512.0
    """Distance over which the fastest pair shrinks by 0.29."""

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module without parameters, apart from those of ``fixed`` levels."""
        from lengthwise import nn

        return nn.XPos(shape.head_width, shape.coupled, base=self.base, scale=self.scale, slots=self.slots(shape))
