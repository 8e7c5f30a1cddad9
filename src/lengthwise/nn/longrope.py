"""LongRoPE: RoPE with a factor for each pair of coordinates, and first tokens as trained (Ding et al. 2024)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Num
from torch import Tensor

from lengthwise.core.errors import require
from lengthwise.nn.rope import Rotary
from lengthwise.nn.slots import Slots


class LongRoPE(Rotary):
    """As `Rotary` with frequencies θ_c / λ_c, and queries and keys times √(1 + ln(factor) / ln(length)).

    ``factors`` are the λ of the pairs, from the fastest. The authors search for them; the default is where such a
    search starts, λ_c = factor^(2c / (d − 2)), which is NTK-aware scaling. Ids below ``unscaled`` keep the angles of
    `Rotary`.

    Input: queries or keys ``[B, H, T, head_width]`` and their tokens' ids, ``[B, T]`` or ``[B, T, L]``. Output: the
    same shape. Has no parameters. Raises `LengthwiseError` as `Rotary` does, unless factor ≥ 1 and length ≥ 2, and
    unless there is one positive factor for each pair.

    >>> import torch
    >>> from lengthwise.nn import LongRoPE
    >>> rotary = LongRoPE(8, factors=[1.0, 1.1, 2.0, 4.0], factor=4.0, length=128)
    >>> rotary(torch.randn(2, 4, 10, 8), torch.arange(10).expand(2, 10)).shape
    torch.Size([2, 4, 10, 8])
    """

    factors: Tensor

    def __init__(
        self,
        head_width: int,
        levels: int | Sequence[int] = 1,
        *,
        factors: Sequence[float] | None = None,
        factor: float = 4.0,
        length: int = 2048,
        unscaled: int = 0,
        base: float = 10_000.0,
        slots: Slots | None = None,
    ) -> None:
        require(1 <= factor < math.inf, f"the factor of a longer context must be at least 1, got {factor}")
        require(length >= 2, f"the trained length must be at least 2, got {length}")
        super().__init__(head_width, levels, base=base, slots=slots)
        half = head_width // 2
        if factors is None:
            factors = [factor ** (c / max(1, half - 1)) for c in range(half)]
        require(
            len(factors) == half and all(0 < each < math.inf for each in factors),
            f"longrope needs {half} positive factors for a head width of {head_width}, got {list(factors)}",
        )
        self.unscaled, self.sharpening = unscaled, math.sqrt(1 + math.log(factor) / math.log(length))
        self.register_buffer("factors", torch.tensor(factors, dtype=torch.float32), persistent=False)

    def angles(self, ids: Num[Tensor, "B T L"]) -> Float[Tensor, "B T f"]:
        plain = super().angles(ids)
        return torch.where(ids[..., self.level_of] < self.unscaled, plain, plain / self.factors)

    def rotate(self, x: Float[Tensor, "B H T d"], ids: Num[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        return super().rotate(x, ids) * self.sharpening
