"""Settings of the encoding `forgetting`; its formula is `ForgettingBias` in `nn/forgetting.py`."""

from __future__ import annotations

import pydantic

from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("forgetting")
class ForgettingSpec(ModuleSpec):
    """Forget gates of the tokens make attention decay, as in the forgetting transformer, FoX (Lin et al. 2025)."""

    module = "ForgettingBias"
    summary = "attention that decays by forget gates of the tokens (FoX); ids are not used"
    uses_ids = False

    bias: pydantic.FiniteFloat = 5.0
    """Initial bias of the gates; large: nearly nothing is forgotten."""
