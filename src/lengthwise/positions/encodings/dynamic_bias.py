"""Settings of the encoding `dynamic-bias`; its formula is `DynamicBias` in `nn/dynamic_bias.py`."""

from __future__ import annotations

from lengthwise.core.bounds import AtLeast1
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("dynamic-bias")
class DynamicBiasSpec(ModuleSpec):
    """A small MLP on the signed distance, on a log scale, shared by the layers (Wang et al. 2021)."""

    module = "DynamicBias"
    summary = "a small MLP on the signed logarithm of the distance"

    width: AtLeast1 = 32
    depth: AtLeast1 = 2
    """Hidden layers."""
    log: bool = True
