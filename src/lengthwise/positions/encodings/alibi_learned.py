"""Settings of the encoding `alibi-learned`; its formula is `LearnedALiBi` in `nn/alibi_learned.py`."""

from __future__ import annotations

from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("alibi-learned")
class LearnedALiBiSpec(ModuleSpec):
    """ALiBi whose slopes are learned, from those of ALiBi on."""

    module = "LearnedALiBi"
    summary = "a linear penalty on distance with a learned slope per head"
