"""Settings of the encoding `scalable-softmax`; its formula is `ScalableSoftmax` in `nn/scalable_softmax.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.bounds import AtLeast2
from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("scalable-softmax")
@config
class ScalableSoftmax(EncodingSpec):
    """Logits are multiplied by a learned number per head and the logarithm of the number of keys (Nakanishi 2025)."""

    summary = "logits times a learned number times ln(number of keys); ids are not used"
    uses_ids = False

    length: AtLeast2 = 32
    """About the training length: at it, logits keep their size at the start."""

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """One number per head."""
        from lengthwise import nn

        return nn.ScalableSoftmax(shape.heads, length=self.length, slots=self.slots(shape))
