"""Scaled RoPE of Llama 3: slow pairs are interpolated, fast ones kept, those between mixed (Dubey et al. 2024)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from lengthwise.core.errors import require
from lengthwise.nn.rope import Rotary
from lengthwise.nn.slots import Slots


class Llama3Rotary(Rotary):
    """As `Rotary`; pairs of wavelength λ = 2π/θ above length / low have θ / factor, those below length / high keep θ.

    Between the two it is (1 − g) · θ / factor + g · θ with g = (length / λ − low) / (high − low).

    Input: queries or keys ``[B, H, T, head_width]`` and their tokens' ids, ``[B, T]`` or ``[B, T, L]``. Output: the
    same shape. Has no parameters. Raises `LengthwiseError` as `Rotary` does, and unless factor ≥ 1, length ≥ 1 and
    0 < low < high.

    >>> import torch
    >>> from lengthwise.nn import Llama3Rotary
    >>> Llama3Rotary(64, factor=8.0, length=128)(torch.randn(2, 4, 10, 64), torch.arange(10).expand(2, 10)).shape
    torch.Size([2, 4, 10, 64])
    """

    def __init__(
        self,
        head_width: int,
        levels: int | Sequence[int] = 1,
        *,
        factor: float = 8.0,
        length: int = 8192,
        low: float = 1.0,
        high: float = 4.0,
        base: float = 10_000.0,
        slots: Slots | None = None,
    ) -> None:
        require(1 <= factor < math.inf, f"the factor of a longer context must be at least 1, got {factor}")
        require(length >= 1, f"the trained length must be at least 1, got {length}")
        require(0 < low < high, f"llama3 needs 0 < low < high, got {low} and {high}")
        super().__init__(head_width, levels, base=base, slots=slots)
        plain = self.frequencies
        rotations = length * plain / (2 * math.pi)
        mixed = ((rotations - low) / (high - low)).clamp(0, 1)
        self.frequencies = torch.where(mixed == 1, plain, (1 - mixed) * plain / factor + mixed * plain)
