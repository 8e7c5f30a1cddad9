"""The specification of `lengthwise.nn.LongRoPE`."""

from __future__ import annotations

from lengthwise.core.bounds import AboveZero, AtLeast2, Extension
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("longrope")
class LongRoPESpec(ModuleSpec):
    """RoPE with a factor for each pair, and the first ``unscaled`` ids as trained (Ding et al. 2024).

    Without ``factors`` the pairs are scaled as in NTK-aware scaling, where a search for factors starts.
    """

    module = "LongRoPE"
    summary = "RoPE with a factor for each pair of coordinates"
    extends_rope = True

    factors: tuple[float, ...] | None = None
    factor: Extension = 4.0
    length: AtLeast2 = 16
    unscaled: int = 0
    base: AboveZero = 10_000.0
