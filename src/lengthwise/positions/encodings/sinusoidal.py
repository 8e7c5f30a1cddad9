"""Settings of the encoding `sinusoidal`; its formula is `Sinusoidal` in `nn/sinusoidal.py`."""

from __future__ import annotations

from lengthwise.core.bounds import AboveZero
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("sinusoidal")
class SinusoidalSpec(ModuleSpec):
    """Fixed sines and cosines of the id, added to the token embedding (Vaswani et al. 2017)."""

    module = "Sinusoidal"
    summary = "fixed sines and cosines, added to the token embedding"
    translation_invariant = False

    base: AboveZero = 10_000.0
    scale: float = 0.05
    """Factor on the sines, to match the size of the token embeddings."""
