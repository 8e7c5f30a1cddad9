"""Settings of the encoding `learned`; its formula is `LearnedEmbedding` in `nn/learned.py`."""

from __future__ import annotations

from lengthwise.core.bounds import NotNegative
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("learned")
class LearnedSpec(ModuleSpec):
    """A learned vector per id, added to the token embedding; one table per level, summed (APE)."""

    module = "LearnedEmbedding"
    summary = "one learned table per level, added to the token embedding"
    has_table = True
    translation_invariant = False

    init_std: NotNegative = 0.05
