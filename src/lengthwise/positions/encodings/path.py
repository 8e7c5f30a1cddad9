"""The specification of `lengthwise.nn.PaTH`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.bounds import AtLeast1
from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("path")
@config
class PaTH(EncodingSpec):
    """Queries and keys pass a matrix I − β w wᵀ for each token between them (Yang et al. 2025)."""

    summary = "products of queries and keys pass a learned matrix for each token between them; ids are not used"
    uses_ids = False

    rank: AtLeast1 = 32
    """The rank of the projection that gives w."""

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """Projections of the attention layer's input, shared by the layers."""
        from lengthwise import nn

        return nn.PaTH(shape.width, shape.heads, shape.head_width, rank=self.rank, slots=self.slots(shape))
