"""Settings of the encoding `alibi`; its formula is `ALiBi` in `nn/alibi.py`."""

from __future__ import annotations

from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("alibi")
class ALiBiSpec(ModuleSpec):
    """A penalty linear in the distance of the ids, with a fixed slope per head (Press et al. 2022)."""

    module = "ALiBi"
    summary = "a fixed linear penalty on distance, one slope per head"
