"""Settings of the encoding `alibi-learned`; its formula is `LearnedALiBi` in `nn/alibi_learned.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("alibi-learned")
@config
class LearnedALiBi(EncodingSpec):
    """ALiBi whose slopes are learned, from those of ALiBi on."""

    summary = "a linear penalty on distance with a learned slope per head"

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """One number per head."""
        from lengthwise import nn

        return nn.LearnedALiBi(shape.heads, shape.coupled, slots=self.slots(shape))
