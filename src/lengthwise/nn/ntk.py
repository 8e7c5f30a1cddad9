"""NTK-aware scaling: RoPE with a larger base, so that slow pairs are interpolated and fast ones kept (bloc97 2023)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lengthwise.core.errors import require
from lengthwise.nn.rope import Rotary
from lengthwise.nn.slots import Slots


class NTKAware(Rotary):
    """As `Rotary` with base · factor^(d / (d − 2)), d the head width: the slowest pair is slower by ``factor``.

    Input: queries or keys ``[B, H, T, head_width]`` and their tokens' ids, ``[B, T]`` or ``[B, T, L]``. Output: the
    same shape. Has no parameters. Raises `LengthwiseError` as `Rotary` does, for a factor below 1, and for a head width
    below 4.

    >>> import torch
    >>> from lengthwise.nn import NTKAware
    >>> NTKAware(64, factor=4.0)(torch.randn(2, 4, 10, 64), torch.arange(10).expand(2, 10)).shape
    torch.Size([2, 4, 10, 64])
    """

    def __init__(
        self,
        head_width: int,
        levels: int | Sequence[int] = 1,
        *,
        factor: float = 4.0,
        base: float = 10_000.0,
        slots: Slots | None = None,
    ) -> None:
        require(1 <= factor < math.inf, f"the factor of a longer context must be at least 1, got {factor}")
        require(head_width >= 4, f"NTK-aware scaling needs a head width of at least 4, got {head_width}")
        super().__init__(head_width, levels, base=base * factor ** (head_width / (head_width - 2)), slots=slots)
