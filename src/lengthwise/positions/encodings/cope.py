"""Settings of the encoding `cope`; its formula is `CoPE` in `nn/cope.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.bounds import AtLeast2
from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("cope")
@config
class CoPE(EncodingSpec):
    """Contextual positions: how many keys from a key up to the query pass a gate (Golovneva et al. 2024)."""

    summary = "positions that count the keys that pass a gate; ids are not used"
    uses_ids = False
    smooth = False

    positions: AtLeast2 = 64
    """Counted positions are clipped below this."""

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A table of positions × head width."""
        from lengthwise import nn

        return nn.CoPE(shape.head_width, positions=self.positions, slots=self.slots(shape))
