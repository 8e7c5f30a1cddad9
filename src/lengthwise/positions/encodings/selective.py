"""Settings of the encoding `selective`; its formula is `SelectiveAttention` in `nn/selective.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("selective")
@config
class Selective(EncodingSpec):
    """Selective attention: each layer's first head decides which earlier tokens to mask (Leviathan et al. 2024)."""

    summary = "tokens mask earlier tokens for all later ones; ids are not used"
    uses_ids = False

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A module without parameters, apart from those of ``fixed`` levels."""
        from lengthwise import nn

        return nn.SelectiveAttention(slots=self.slots(shape))
