"""Settings of the encoding `coupled-bias`; its formula is `CoupledBias` in `nn/coupled_bias.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("coupled-bias")
@config
class CoupledBias(EncodingSpec):
    """A learned bias per signed, clipped distance, with a table for each level; shared by the layers."""

    summary = "a learned bias per signed distance and level of the ids"

    buckets: int = 64
    """Distances from −buckets/2 to buckets/2 − 1 have a row each."""

    def __post_init__(self) -> None:
        if self.buckets < 2 or self.buckets % 2:
            raise ValueError(f"coupled-bias needs an even number of buckets >= 2, got {self.buckets}")

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A table of buckets × heads for each level."""
        from lengthwise import nn

        return nn.CoupledBias(shape.heads, shape.coupled, buckets=self.buckets, slots=self.slots(shape))
