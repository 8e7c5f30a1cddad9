"""Settings of the encoding `shaw`; its formula is `Shaw` in `nn/shaw.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.bounds import AtLeast1
from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("shaw")
@config
class Shaw(EncodingSpec):
    """A learned vector per clipped distance, added to keys; shared by heads and layers (Shaw et al. 2018)."""

    summary = "a learned vector per clipped distance, added to keys"

    clip: AtLeast1 = 16

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A table of 2 · clip + 1 vectors for each level."""
        from lengthwise import nn

        return nn.Shaw(shape.head_width, shape.coupled, clip=self.clip, slots=self.slots(shape))
