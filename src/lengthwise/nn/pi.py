"""Position interpolation, PI: RoPE with ids divided by a factor, for longer contexts (Chen et al. 2023)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lengthwise.core.errors import require
from lengthwise.nn.rope import Rotary
from lengthwise.nn.slots import Slots


class PositionInterpolation(Rotary):
    """As `Rotary`, with ids p / factor: a context ``factor`` times longer has the angles of the trained one.

    The published use is with some fine-tuning. Input: queries or keys ``[B, H, T, head_width]`` and their tokens' ids,
    ``[B, T]`` or ``[B, T, L]``. Output: the same shape. Has no parameters. Raises `LengthwiseError` as `Rotary` does,
    and for a factor below 1.

    >>> import torch
    >>> from lengthwise.nn import PositionInterpolation, Rotary
    >>> q, ids = torch.randn(2, 4, 10, 64), torch.arange(10).expand(2, 10)
    >>> torch.allclose(PositionInterpolation(64, factor=2.0)(q, 2 * ids), Rotary(64)(q, ids), atol=1e-5)
    True
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
        super().__init__(head_width, levels, base=base, slots=slots)
        self.frequencies = self.frequencies / factor
