"""The specification of `lengthwise.nn.LongRoPE`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.bounds import AboveZero, AtLeast2, Extension
from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("longrope")
@config
class LongRoPE(EncodingSpec):
    """RoPE with a factor for each pair, and the first ``unscaled`` ids as trained (Ding et al. 2024).

    Without ``factors`` the pairs are scaled as in NTK-aware scaling, where a search for factors starts.
    """

    summary = "RoPE with a factor for each pair of coordinates"
    extends_rope = True

    factors: tuple[float, ...] | None = None
    factor: Extension = 4.0
    length: AtLeast2 = 16
    unscaled: int = 0
    base: AboveZero = 10_000.0

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module without parameters, apart from those of ``fixed`` levels."""
        from lengthwise import nn

        return nn.LongRoPE(
            shape.head_width,
            shape.coupled,
            factors=self.factors,
            factor=self.factor,
            length=self.length,
            unscaled=self.unscaled,
            base=self.base,
            slots=self.slots(shape),
        )
