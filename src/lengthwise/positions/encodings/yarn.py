"""The specification of `lengthwise.nn.YaRN`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.bounds import AboveZero, AtLeast1, Extension
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("yarn")
class YaRNSpec(EncodingSpec):
    """RoPE with fast pairs kept and slow pairs interpolated, and sharper attention (Peng et al. 2023).

    ``length`` is the trained context in tokens. ``by_index`` is the variant of most public code.
    """

    summary = "RoPE with slow pairs interpolated and sharper attention: extends the context of a trained model"
    extends_rope = True

    factor: Extension = 4.0
    length: AtLeast1 = 16
    alpha: float = 1.0
    beta: float = 32.0
    by_index: bool = False
    base: AboveZero = 10_000.0

    def __post_init__(self) -> None:
        if not 0 < self.alpha < self.beta:
            raise ValueError(f"yarn needs 0 < alpha < beta, got {self.alpha} and {self.beta}")

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module without parameters, apart from those of ``label`` levels."""
        from lengthwise import nn

        return nn.YaRN(
            shape.head_width,
            shape.position_levels,
            factor=self.factor,
            length=self.length,
            bounds=(self.alpha, self.beta),
            by_index=self.by_index,
            base=self.base,
            slots=self.slots(shape),
        )
