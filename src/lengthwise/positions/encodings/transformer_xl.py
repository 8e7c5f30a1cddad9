"""Settings of the encoding `transformer-xl`; its formula is `TransformerXL` in `nn/transformer_xl.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("transformer-xl")
@config
class TransformerXL(EncodingSpec):
    """Queries meet projected sinusoids of the distance; shared by the layers (Dai et al. 2019)."""

    summary = "products of queries with projected sinusoids of the distance"

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A matrix for each level, and two vectors per head."""
        from lengthwise import nn

        return nn.TransformerXL(shape.heads, shape.head_width, shape.coupled, slots=self.slots(shape))
