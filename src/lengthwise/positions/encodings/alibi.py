"""Settings of the encoding `alibi`; its formula is `ALiBi` in `nn/alibi.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("alibi")
@config
class ALiBi(EncodingSpec):
    """A penalty linear in the distance of the ids, with a fixed slope per head (Press et al. 2022)."""

    summary = "a fixed linear penalty on distance, one slope per head"

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module without parameters, apart from those of ``fixed`` levels."""
        from lengthwise import nn

        return nn.ALiBi(shape.heads, shape.coupled, slots=self.slots(shape))
