"""Settings of the encoding `rope`; its formula is `Rotary` in `nn/rope.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.bounds import AboveZero
from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("rope")
@config
class RoPE(EncodingSpec):
    """Queries and keys are rotated by their ids, in the half layout (Su et al. 2021).

    Several coupled levels share the frequencies in contiguous blocks.
    """

    summary = "queries and keys rotated by their ids; attention depends on differences of ids only"

    base: AboveZero = 10_000.0

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module without parameters, apart from those of ``fixed`` levels."""
        from lengthwise import nn

        return nn.Rotary(shape.head_width, shape.coupled, base=self.base, slots=self.slots(shape))
