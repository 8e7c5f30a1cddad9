"""Settings of the encoding `learned`; its formula is `LearnedEmbedding` in `nn/learned.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.bounds import NotNegative
from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("learned")
@config
class Learned(EncodingSpec):
    """A learned vector per id, added to the token embedding; one table per level, summed (APE)."""

    summary = "one learned table per level, added to the token embedding"
    has_table = True
    translation_invariant = False

    init_std: NotNegative = 0.05

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """Tables of ``max_position + 1`` rows."""
        from lengthwise import nn

        return nn.LearnedEmbedding(
            shape.max_position, shape.width, shape.coupled, init_std=self.init_std, slots=self.slots(shape)
        )
