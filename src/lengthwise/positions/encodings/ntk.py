"""The specification of `lengthwise.nn.NTKAware`."""

from __future__ import annotations

from lengthwise.core.bounds import AboveZero, Extension
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("ntk")
class NTKSpec(ModuleSpec):
    """RoPE with a base that grows with ``factor``: NTK-aware scaling (bloc97 2023)."""

    module = "NTKAware"
    summary = "RoPE with a larger base: extends the context of a trained model"
    extends_rope = True

    factor: Extension = 4.0
    base: AboveZero = 10_000.0
