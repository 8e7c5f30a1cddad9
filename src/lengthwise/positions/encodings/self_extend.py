"""The specification of `lengthwise.nn.SelfExtend`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.bounds import AboveZero, AtLeast1
from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("self-extend")
@config
class SelfExtend(EncodingSpec):
    """RoPE with exact distances below ``near`` and grouped ones beyond (Jin et al. 2024)."""

    summary = "RoPE with exact near distances and grouped far ones"
    extends_rope = True
    translation_invariant = False

    near: AtLeast1 = 8
    group: AtLeast1 = 4
    base: AboveZero = 10_000.0

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module without parameters, apart from those of ``fixed`` levels."""
        from lengthwise import nn

        return nn.SelfExtend(
            shape.head_width, shape.coupled, near=self.near, group=self.group, base=self.base, slots=self.slots(shape)
        )
