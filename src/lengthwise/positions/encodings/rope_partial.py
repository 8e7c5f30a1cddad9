"""Settings of the encoding `rope-partial`; its formula is `PartialRotary` in `nn/rope_partial.py`."""

from __future__ import annotations

from lengthwise.core.bounds import AboveZero, PositiveShare
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("rope-partial")
class PartialRoPESpec(ModuleSpec):
    """A share of the coordinates of queries and keys is rotated by the ids (GPT-NeoX, GPT-J)."""

    module = "PartialRotary"
    summary = "RoPE on a share of the coordinates"

    share: PositiveShare = 0.5
    base: AboveZero = 10_000.0
