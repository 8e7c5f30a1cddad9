"""The specification of `lengthwise.nn.Llama3Rotary`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.bounds import AboveZero, AtLeast1, Extension
from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("llama3")
@config
class Llama3(EncodingSpec):
    """RoPE with slow pairs interpolated, as in Llama 3.1 (Dubey et al. 2024).

    ``length`` is the trained context in tokens.
    """

    summary = "RoPE with slow pairs interpolated, as in Llama 3.1"
    extends_rope = True

    factor: Extension = 4.0
    length: AtLeast1 = 16
    low: float = 1.0
    high: float = 4.0
    base: AboveZero = 10_000.0

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high:
            raise ValueError(f"llama3 needs 0 < low < high, got {self.low} and {self.high}")

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module without parameters, apart from those of ``fixed`` levels."""
        from lengthwise import nn

        return nn.Llama3Rotary(
            shape.head_width,
            shape.coupled,
            factor=self.factor,
            length=self.length,
            low=self.low,
            high=self.high,
            base=self.base,
            slots=self.slots(shape),
        )
