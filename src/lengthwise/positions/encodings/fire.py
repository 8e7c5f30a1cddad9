"""Settings of the encoding `fire`; its formula is `FIRE` in `nn/fire.py`."""

from __future__ import annotations

from lengthwise.core.bounds import AboveZero, AtLeast1
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("fire")
class FIRESpec(ModuleSpec):
    """A small MLP on the distance relative to the query's position, both on a log scale (Li et al. 2024).

    The normalizer is the maximum of the learned threshold and the ids of query and key. One bias serves all layers.
    """

    module = "FIRE"
    summary = "a learned function of relative distance, normalized by the query's position"
    translation_invariant = False

    threshold: AboveZero = 32.0
    """Initial value of the learned length threshold; about the training length."""
    width: AtLeast1 = 32
    scale: AboveZero = 0.1
    """Initial value of c in ln(c·x + 1)."""
