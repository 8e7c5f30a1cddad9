"""Settings of the encoding `sinusoidal`; its formula is `Sinusoidal` in `nn/sinusoidal.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.bounds import AboveZero
from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("sinusoidal")
@config
class Sinusoidal(EncodingSpec):
    """Fixed sines and cosines of the id, added to the token embedding (Vaswani et al. 2017)."""

    summary = "fixed sines and cosines, added to the token embedding"
    translation_invariant = False

    base: AboveZero = 10_000.0
    scale: float = 0.05
    """Factor on the sines, to match the size of the token embeddings."""

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module without parameters, apart from those of ``fixed`` levels."""
        from lengthwise import nn

        return nn.Sinusoidal(shape.width, shape.coupled, base=self.base, scale=self.scale, slots=self.slots(shape))
