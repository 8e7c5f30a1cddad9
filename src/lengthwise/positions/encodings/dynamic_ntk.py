"""The specification of `lengthwise.nn.DynamicNTK`."""

from __future__ import annotations

from lengthwise.core.bounds import AboveZero, AtLeast1, Extension
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("dynamic-ntk")
class DynamicNTKSpec(ModuleSpec):
    """RoPE whose base grows with the tokens so far beyond the trained ``length`` (emozilla 2023)."""

    module = "DynamicNTK"
    summary = "RoPE whose base grows with the number of tokens beyond the trained length"
    extends_rope = True
    translation_invariant = False

    factor: Extension = 1.0
    length: AtLeast1 = 16
    base: AboveZero = 10_000.0
