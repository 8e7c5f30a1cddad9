"""The specification of `lengthwise.nn.PositionInterpolation`."""

from __future__ import annotations

from lengthwise.core.bounds import AboveZero, Extension
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("pi")
class PISpec(ModuleSpec):
    """RoPE with ids divided by ``factor``: position interpolation (Chen et al. 2023)."""

    module = "PositionInterpolation"
    summary = "RoPE with ids divided by a factor: extends the context of a trained model"
    extends_rope = True

    factor: Extension = 4.0
    base: AboveZero = 10_000.0
