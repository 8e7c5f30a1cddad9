"""Settings of the encoding `rope`; its formula is `Rotary` in `nn/rope.py`."""

from __future__ import annotations

from lengthwise.core.bounds import AboveZero
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("rope")
class RoPESpec(ModuleSpec):
    """Queries and keys are rotated by their ids, in the half layout (Su et al. 2021).

    Several position levels share the frequencies in contiguous blocks.
    """

    module = "Rotary"
    summary = "queries and keys rotated by their ids; attention depends on differences of ids only"

    base: AboveZero = 10_000.0
