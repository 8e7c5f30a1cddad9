"""The specification of `lengthwise.nn.SelfExtend`."""

from __future__ import annotations

from lengthwise.core.bounds import AboveZero, AtLeast1
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("self-extend")
class SelfExtendSpec(ModuleSpec):
    """RoPE with exact distances below ``near`` and grouped ones beyond (Jin et al. 2024)."""

    module = "SelfExtend"
    summary = "RoPE with exact near distances and grouped far ones"
    extends_rope = True
    translation_invariant = False

    near: AtLeast1 = 8
    group: AtLeast1 = 4
    base: AboveZero = 10_000.0
