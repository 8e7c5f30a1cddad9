"""Settings of the encoding `selective`; its formula is `SelectiveAttention` in `nn/selective.py`."""

from __future__ import annotations

from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("selective")
class SelectiveSpec(ModuleSpec):
    """Selective attention: each layer's first head decides which earlier tokens to mask (Leviathan et al. 2024)."""

    module = "SelectiveAttention"
    summary = "tokens mask earlier tokens for all later ones; ids are not used"
    uses_ids = False
