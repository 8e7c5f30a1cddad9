"""Settings of the encoding `rope-partial`; its formula is `PartialRotary` in `nn/rope_partial.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.bounds import AboveZero, PositiveShare
from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("rope-partial")
@config
class PartialRoPE(EncodingSpec):
    """A share of the coordinates of queries and keys is rotated by the ids (GPT-NeoX, GPT-J)."""

    summary = "RoPE on a share of the coordinates"

    share: PositiveShare = 0.5
    base: AboveZero = 10_000.0

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module without parameters, apart from those of ``fixed`` levels."""
        from lengthwise import nn

        return nn.PartialRotary(
            shape.head_width, shape.coupled, share=self.share, base=self.base, slots=self.slots(shape)
        )
