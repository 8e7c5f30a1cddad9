"""Settings of the encoding `xpos`; its formula is `XPos` in `nn/xpos.py`."""

from __future__ import annotations

from lengthwise.core.bounds import AboveZero
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("xpos")
class XPosSpec(ModuleSpec):
    """RoPE with factors that decay with the distance, faster for pairs that rotate faster (Sun et al. 2022)."""

    module = "XPos"
    summary = "RoPE whose rotated pairs also shrink with the distance"

    base: AboveZero = 10_000.0
    scale: AboveZero = 512.0
    """Distance over which the fastest pair shrinks by 0.29."""
