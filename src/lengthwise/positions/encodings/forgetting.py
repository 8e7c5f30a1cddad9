"""Settings of the encoding `forgetting`; its formula is `ForgettingBias` in `nn/forgetting.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pydantic

from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("forgetting")
@config
class Forgetting(EncodingSpec):
    """Forget gates of the tokens make attention decay, as in the forgetting transformer, FoX (Lin et al. 2025)."""

    summary = "attention that decays by forget gates of the tokens (FoX); ids are not used"
    uses_ids = False

    bias: pydantic.FiniteFloat = 5.0
    """Initial bias of the gates; large: nearly nothing is forgotten."""

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """A matrix of width × heads and a bias per head."""
        from lengthwise import nn

        return nn.ForgettingBias(shape.width, shape.heads, bias=self.bias, slots=self.slots(shape))
