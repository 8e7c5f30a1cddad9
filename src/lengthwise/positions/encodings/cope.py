"""Settings of the encoding `cope`; its formula is `CoPE` in `nn/cope.py`."""

from __future__ import annotations

from lengthwise.core.bounds import AtLeast2
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("cope")
class CoPESpec(ModuleSpec):
    """Contextual positions: how many keys from a key up to the query pass a gate (Golovneva et al. 2024)."""

    module = "CoPE"
    summary = "positions that count the keys that pass a gate; ids are not used"
    uses_ids = False
    smooth = False

    positions: AtLeast2 = 64
    """Counted positions are clipped below this."""
