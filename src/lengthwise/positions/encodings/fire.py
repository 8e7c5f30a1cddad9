"""Settings of the encoding `fire`; its formula is `FIRE` in `nn/fire.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.core.bounds import AboveZero, AtLeast1
from lengthwise.core.config import config
from lengthwise.positions.encodings.base import ENCODINGS, EncodingSpec
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding


@ENCODINGS.register("fire")
@config
class FIRE(EncodingSpec):
    """A small MLP on the distance relative to the query's position, both on a log scale (Li et al. 2024).

    The normalizer is the maximum of the learned threshold and the ids of query and key. One bias serves all layers.
    """

    summary = "a learned function of relative distance, normalized by the query's position"
    translation_invariant = False

    threshold: AboveZero = 32.0
    """Initial value of the learned length threshold; about the training length."""
    width: AtLeast1 = 32
    scale: AboveZero = 0.1
    """Initial value of c in ln(c·x + 1)."""

    def build(self, shape: EncodingShape) -> PositionEncoding:
        """The MLP 1 → width → heads and its two learned numbers."""
        from lengthwise import nn

        return nn.FIRE(
            shape.heads,
            shape.coupled,
            threshold=self.threshold,
            width=self.width,
            scale=self.scale,
            slots=self.slots(shape),
        )
