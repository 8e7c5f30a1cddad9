"""The specification of `lengthwise.nn.ReRoPE`."""

from __future__ import annotations

from lengthwise.core.bounds import AboveZero, AtLeast1, Share
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("rerope")
class ReRoPESpec(ModuleSpec):
    """RoPE with distances clipped at ``near``, or growing by ``leak`` beyond it (Su 2023)."""

    module = "ReRoPE"
    summary = "RoPE with distances clipped beyond a limit"
    extends_rope = True

    near: AtLeast1 = 8
    leak: Share = 0.0
    base: AboveZero = 10_000.0
