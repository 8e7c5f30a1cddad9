"""Settings of the encoding `dynamic-bias`; its formula is `DynamicBias` in `nn/dynamic_bias.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

    width: int = 32
    depth: int = 2
    """Hidden layers."""
    log: bool = True

    def __post_init__(self) -> None:
        if self.width < 1 or self.depth < 1:
            raise ValueError(f"dynamic-bias needs width and depth of at least 1, got {self.width} and {self.depth}")

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """The MLP 1 → width → … → heads."""
        from lengthwise import nn

        return nn.DynamicBias(
            shape.heads, shape.coupled, width=self.width, depth=self.depth, log=self.log, slots=self.slots(shape)
        )
