"""Settings of the encoding `local-bias`; its formula is `LocalBias` in `nn/local_bias.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.bounds import AboveZero, AtLeast0
from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("local-bias")
@config
class LocalBias(EncodingSpec):
    """A learned bias per signed distance of near ids; far ids get no attention. Shared by the layers."""

    summary = "attention to near ids alone, with a learned bias per signed distance"
    local = True

    window: AtLeast0 = 4
    """The largest distance of ids that attention bridges; at least the task's span (``lengthwise show``)."""
    scale: AboveZero = 12.0
    """How many times faster than its own entries a bias of the table moves under Adam."""

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A table of 2 · window + 1 rows for each level."""
        from lengthwise import nn

        return nn.LocalBias(
            shape.heads, shape.coupled, window=self.window, scale=self.scale, slots=self.slots(shape)
        )  # fmt: skip
