"""Settings of the encoding `dynamic-bias`; its formula is `DynamicBias` in `nn/dynamic_bias.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.bounds import AtLeast1
from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("dynamic-bias")
@config
class DynamicBias(EncodingSpec):
    """A small MLP on the signed distance, on a log scale, shared by the layers (Wang et al. 2021)."""

    summary = "a small MLP on the signed logarithm of the distance"

    width: AtLeast1 = 32
    depth: AtLeast1 = 2
    """Hidden layers."""
    log: bool = True

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """The MLP 1 → width → … → heads."""
        from lengthwise import nn

        return nn.DynamicBias(
            shape.heads, shape.coupled, width=self.width, depth=self.depth, log=self.log, slots=self.slots(shape)
        )
