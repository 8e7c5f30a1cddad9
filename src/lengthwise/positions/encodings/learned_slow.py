"""Settings of the encoding `learned-slow`; its formula is `LearnedEmbedding` that changes slowly in `nn/learned.py`."""

from __future__ import annotations

from lengthwise.core.bounds import NotNegative, PositiveShare
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("learned-slow")
class SlowLearnedSpec(ModuleSpec):
    """A learned table that is multiplied by ``scale`` on use, so that Adam changes it ``scale`` times as fast.

    Adam's steps have the size of the learning rate even where the loss hardly depends on a number; in a slow table,
    rows that are not needed stay small. ``init_std`` is that of the product. This choice is ours, from no paper.
    """

    module = "LearnedEmbedding"
    summary = "a learned table at a share of the learning rate, added to the token embedding"
    has_table = True
    translation_invariant = False

    init_std: NotNegative = 0.002
    scale: PositiveShare = 0.1
