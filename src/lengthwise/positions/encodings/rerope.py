"""The specification of `lengthwise.nn.ReRoPE`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.bounds import AboveZero, AtLeast1, Share
from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("rerope")
@config
class ReRoPE(EncodingSpec):
    """RoPE with distances clipped at ``near``, or growing by ``leak`` beyond it (Su 2023)."""

    summary = "RoPE with distances clipped beyond a limit"
    extends_rope = True

    near: AtLeast1 = 8
    leak: Share = 0.0
    base: AboveZero = 10_000.0

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module without parameters, apart from those of ``fixed`` levels."""
        from lengthwise import nn

        return nn.ReRoPE(
            shape.head_width, shape.coupled, near=self.near, leak=self.leak, base=self.base, slots=self.slots(shape)
        )
