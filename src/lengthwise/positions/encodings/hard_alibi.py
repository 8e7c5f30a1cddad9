"""Settings of the encoding `hard-alibi`; its formula is `HardALiBi` in `nn/hard_alibi.py`."""

from __future__ import annotations

from lengthwise.core.bounds import AtLeast1
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("hard-alibi")
class HardALiBiSpec(ModuleSpec):
    """Head h of the local heads sees the last h tokens, the other heads see everything (Jelassi et al. 2024)."""

    module = "HardALiBi"
    summary = "heads that see the last 1, 2, … tokens only, and heads that see everything"

    local_heads: AtLeast1 | None = None
    """How many heads are local; None: half of them."""
