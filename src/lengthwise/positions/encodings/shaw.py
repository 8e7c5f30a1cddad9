"""Settings of the encoding `shaw`; its formula is `Shaw` in `nn/shaw.py`."""

from __future__ import annotations

from lengthwise.core.bounds import AtLeast1
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("shaw")
class ShawSpec(ModuleSpec):
    """A learned vector per clipped distance, added to keys; shared by heads and layers (Shaw et al. 2018)."""

    module = "Shaw"
    summary = "a learned vector per clipped distance, added to keys"

    clip: AtLeast1 = 16
