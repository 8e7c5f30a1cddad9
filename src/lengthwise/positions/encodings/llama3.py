"""The specification of `lengthwise.nn.Llama3Rotary`."""

from __future__ import annotations

from lengthwise.core.bounds import AboveZero, AtLeast1, Extension
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("llama3")
class Llama3Spec(ModuleSpec):
    """RoPE with slow pairs interpolated, as in Llama 3.1 (Dubey et al. 2024).

    ``length`` is the trained context in tokens.
    """

    module = "Llama3Rotary"
    summary = "RoPE with slow pairs interpolated, as in Llama 3.1"
    extends_rope = True

    factor: Extension = 4.0
    length: AtLeast1 = 16
    low: float = 1.0
    high: float = 4.0
    base: AboveZero = 10_000.0

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high:
            raise ValueError(f"llama3 needs 0 < low < high, got {self.low} and {self.high}")
