"""Settings of the encoding `scalable-softmax`; its formula is `ScalableSoftmax` in `nn/scalable_softmax.py`."""

from __future__ import annotations

from lengthwise.core.bounds import AtLeast2
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("scalable-softmax")
class ScalableSoftmaxSpec(ModuleSpec):
    """Logits are multiplied by a learned number per head and the logarithm of the number of keys (Nakanishi 2025)."""

    module = "ScalableSoftmax"
    summary = "logits times a learned number times ln(number of keys); ids are not used"
    uses_ids = False

    length: AtLeast2 = 32
    """About the training length: at it, logits keep their size at the start."""
