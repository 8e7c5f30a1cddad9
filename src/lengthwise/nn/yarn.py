"""YaRN: RoPE whose fast pairs are kept and whose slow pairs are interpolated, with sharper attention (Peng 2023)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lengthwise.core.errors import require
from lengthwise.nn.rope import Rotary
from lengthwise.nn.slots import Slots


class YaRN(Rotary):
    """As `Rotary` with frequencies (1 − γ) · θ / factor + γ · θ, and queries and keys times 0.1 · ln(factor) + 1.

    γ = clip((r − α) / (β − α), 0, 1), where r = length · θ / 2π is how often a pair rotates in the trained context of
    ``length`` tokens, and ``bounds`` are α and β. With ``by_index`` γ is linear in the number of the pair instead,
    between the pairs that rotate β and α times, rounded outwards: so do the authors' code and most public code.

    Input: queries or keys ``[B, H, T, head_width]`` and their tokens' ids, ``[B, T]`` or ``[B, T, L]``. Output: the
    same shape. Has no parameters. Raises `LengthwiseError` as `Rotary` does, and unless factor ≥ 1, length ≥ 1 and
    0 < α < β.

    >>> import torch
    >>> from lengthwise.nn import YaRN
    >>> YaRN(64, factor=4.0, length=128)(torch.randn(2, 4, 10, 64), torch.arange(10).expand(2, 10)).shape
    torch.Size([2, 4, 10, 64])
    """

    def __init__(
        self,
        head_width: int,
        levels: int | Sequence[int] = 1,
        *,
        factor: float = 4.0,
        length: int = 2048,
        bounds: Sequence[float] = (1.0, 32.0),
        by_index: bool = False,
        base: float = 10_000.0,
        slots: Slots | None = None,
    ) -> None:
        require(1 <= factor < math.inf, f"the factor of a longer context must be at least 1, got {factor}")
        require(length >= 1, f"the trained length must be at least 1, got {length}")
        alpha, beta = bounds
        require(0 < alpha < beta, f"yarn needs 0 < alpha < beta, got {alpha} and {beta}")
        super().__init__(head_width, levels, base=base, slots=slots)
        self.sharpening = 0.1 * math.log(factor) + 1
        plain = self.frequencies.double()
        if by_index:
            kept = 1 - _ramp(head_width, length, base, alpha, beta)
        else:
            kept = ((length * plain / (2 * math.pi) - alpha) / (beta - alpha)).clamp(0, 1)
        self.frequencies = ((1 - kept) * plain / factor + kept * plain).float()

    def rotate(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        return super().rotate(x, ids) * self.sharpening


def _ramp(head_width: int, length: int, base: float, alpha: float, beta: float) -> Float[Tensor, " f"]:
    """From 0 at the pair that rotates ``beta`` times to 1 at the one that rotates ``alpha`` times."""

    def pair(rotations: float) -> float:
        return head_width * math.log(length / (2 * math.pi * rotations)) / (2 * math.log(base))

    first, last = max(math.floor(pair(beta)), 0), min(math.ceil(pair(alpha)), head_width - 1)
    width = last - first if last != first else 0.001
    return ((torch.arange(head_width // 2, dtype=torch.float64) - first) / width).clamp(0, 1)
