"""Sinusoidal positions: fixed sines and cosines, added to the token embedding (Vaswani et al. 2017)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lengthwise.core.errors import require
from lengthwise.nn.added import AddedVectors
from lengthwise.nn.slots import Slots


class Sinusoidal(AddedVectors):
    """x_t + scale · PE[p_t], PE[p, 2c] = sin(p / base^(2c/width)), PE[p, 2c + 1] the cosine of the same angle.

    Input: ids, ``[B, T]`` or ``[B, T, L]``. Output: vectors to add, ``[B, T, width]``, summed over the levels. Has no
    parameters. ``scale`` matches the sines to the size of the token embeddings. Raises `LengthwiseError` unless
    ``base`` is positive and finite.

    >>> import torch
    >>> from lengthwise.nn import Sinusoidal
    >>> position = Sinusoidal(64)
    >>> x = torch.randn(2, 10, 64)
    >>> (x + position(torch.arange(10).expand(2, 10))).shape
    torch.Size([2, 10, 64])
    """

    frequencies: Tensor

    def __init__(
        self,
        width: int,
        levels: int | Sequence[int] = 1,
        *,
        base: float = 10_000.0,
        scale: float = 1.0,
        slots: Slots | None = None,
    ) -> None:
        require(0 < base < math.inf, f"base must be finite and above 0, got {base}")
        super().__init__(levels, slots)
        self.width, self.scale = width, scale
        exponents = torch.arange(0, width, 2, dtype=torch.float32) / width
        self.register_buffer("frequencies", torch.exp(-math.log(base) * exponents), persistent=False)

    def vectors(self, ids: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B T D"]:
        """The sines and cosines of the ids; the same for every level."""
        angles = ids[..., None] * self.frequencies
        return self.scale * torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[..., : self.width]
