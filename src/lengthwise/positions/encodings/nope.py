"""Settings of the encoding `nope`; its formula is `NoPE` in `nn/nope.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("nope")
class NoPESpec(EncodingSpec):
    """No position encoding; only the causal mask distinguishes positions (Haviv et al. 2022).

    Labels on ``label`` levels are ignored as well.
    """

    summary = "nothing is added; only the causal mask distinguishes positions"
    uses_ids = False

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module whose hooks have no effect."""
        from lengthwise import nn

        return nn.NoPE()
