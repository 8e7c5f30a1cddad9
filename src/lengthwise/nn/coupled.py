"""Position coupling as one module: tokens that belong together get the same learned vector (Cho et al. 2024)."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lengthwise.core.errors import require
from lengthwise.nn.learned import LearnedEmbedding


class CoupledEmbedding(LearnedEmbedding):
    """x_t + Σ_ℓ P_ℓ[p_t^ℓ], p = place + offset, one uniform random offset per sequence and level while training.

    Input: places in 0..max_position, ``[B, T]`` or ``[B, T, L]``. Tokens that belong together (such as digits of equal
    significance) share a place; places count from 1, and 0 means "no place" and keeps id 0. Output: ``[B, T, width]``.

    In training mode offsets are as large as ``max_position`` allows, so that all rows are trained although sequences
    are short; in evaluation mode (``module.eval()``) they are 0. ``max_position`` bounds the places at test. Raises
    `LengthwiseError` when a place is larger. Position coupling: Cho et al. 2024, arXiv 2405.20671.

    Example, for ``5 7 + 2 8 = 5 8 0`` with the answer reversed:

    >>> import torch
    >>> from lengthwise.nn import CoupledEmbedding
    >>> position = CoupledEmbedding(512, 64)
    >>> places = torch.tensor([[3, 2, 1, 3, 2, 1, 2, 3, 4]])
    >>> (torch.randn(1, 9, 64) + position(places)).shape
    torch.Size([1, 9, 64])
    """

    def forward(self, places: Int[Tensor, "B T *L"], /) -> Float[Tensor, "B T D"]:
        """The vectors to add, under freshly drawn ids."""
        return super().forward(self.draw(places))

    def draw(self, places: Int[Tensor, "B T *L"], generator: torch.Generator | None = None) -> Int[Tensor, "B T *L"]:
        """The ids of these places, for use in `embed` or as a target where a model predicts them."""
        largest = places.amax(dim=1, keepdim=True)
        size = len(self.tables[0].weight) - 1
        most = int(largest.max()) if places.numel() else 0
        require(most <= size, f"place {most} needs max_position of at least {most}, got {size}; raise max_position")
        if not self.training:
            return places
        room = size - largest + 1
        offset = (torch.rand(room.shape, generator=generator, device=room.device) * room).long().minimum(room - 1)
        return torch.where(places > 0, places + offset, places)
