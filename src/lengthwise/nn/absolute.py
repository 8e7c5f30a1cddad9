"""Absolute positions: none (Haviv et al. 2022), learned, coupled and sinusoidal vectors (Vaswani et al. 2017)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lengthwise.core.errors import require
from lengthwise.nn.base import AddedVectors, PositionEncoding, Slots, normal_tables


class NoPE(PositionEncoding):
    """Nothing is added and nothing is rotated; only the causal mask distinguishes positions.

    >>> ids = torch.arange(10).expand(2, 10)
    >>> encoding = NoPE()
    >>> encoding.embed(ids), encoding.bias(ids, ids)
    (None, None)
    """


class LearnedEmbedding(AddedVectors):
    """x_t + Σ_ℓ P_ℓ[p_t^ℓ], with one table P_ℓ of ``max_position + 1`` rows for each level of the ids.

    Input: ids in 0..max_position, ``[B, T]`` or ``[B, T, L]``. Output: vectors to add, ``[B, T, width]``.

    ``levels`` is the number of levels, or a list of those to use. With ``scale`` below 1 the tables are kept divided
    by it and multiplied by it on use, so that Adam changes them ``scale`` times as fast; ``init_std`` is the standard
    deviation of the product. Raises `LengthwiseError` for settings without meaning, and IndexError for ids above
    ``max_position`` (on a GPU, torch's device assertion).

    >>> position = LearnedEmbedding(512, 64)
    >>> x = torch.randn(2, 10, 64)
    >>> (x + position(torch.arange(10).expand(2, 10))).shape
    torch.Size([2, 10, 64])
    """

    def __init__(
        self, max_position: int, width: int, levels: int | Sequence[int] = 1, *,
        init_std: float = 0.05, scale: float = 1.0, slots: Slots | None = None,
    ) -> None:  # fmt: skip
        require(max_position >= 0 and width >= 1, f"a table needs rows and a width, got {max_position} and {width}")
        require(0 <= init_std < math.inf, f"init_std must be finite and at least 0, got {init_std}")
        require(0 < scale <= 1, f"scale must be above 0 and at most 1, got {scale}")
        super().__init__(levels, slots)
        self.scale = scale
        self.tables = normal_tables(len(self.levels), max_position + 1, width, init_std)
        with torch.no_grad():
            for table in self.tables:
                table.weight.div_(scale)

    def vectors(self, ids: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B T D"]:
        rows = self.tables[index](ids)
        return rows if self.scale == 1 else self.scale * rows

    def table(self) -> Float[Tensor, "*runs N D"]:
        """What each id adds to a token: the levels' tables, summed."""
        total = torch.stack([table.weight for table in self.tables]).sum(0)
        return total if self.scale == 1 else self.scale * total


class CoupledEmbedding(LearnedEmbedding):
    """x_t + Σ_ℓ P_ℓ[p_t^ℓ], p = place + offset, one uniform random offset per sequence and level while training.

    Input: places in 0..max_position, ``[B, T]`` or ``[B, T, L]``. Tokens that belong together (such as digits of equal
    significance) share a place; places count from 1, and 0 means "no place" and keeps id 0. Output: ``[B, T, width]``.

    In training mode offsets are as large as ``max_position`` allows, so that all rows are trained although sequences
    are short; in evaluation mode (``module.eval()``) they are 0. ``max_position`` bounds the places at test. Raises
    `LengthwiseError` when a place is larger. Position coupling: Cho et al. 2024, arXiv 2405.20671.

    Example, for ``5 7 + 2 8 = 5 8 0`` with the answer reversed:

    >>> position = CoupledEmbedding(512, 64)
    >>> places = torch.tensor([[3, 2, 1, 3, 2, 1, 2, 3, 4]])
    >>> (torch.randn(1, 9, 64) + position(places)).shape
    torch.Size([1, 9, 64])
    """

    def forward(self, places: Int[Tensor, "B T *L"], /) -> Float[Tensor, "B T D"]:
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


class Sinusoidal(AddedVectors):
    """x_t + scale · PE[p_t], PE[p, 2c] = sin(p / base^(2c/width)), PE[p, 2c + 1] the cosine of the same angle.

    Input: ids, ``[B, T]`` or ``[B, T, L]``. Output: vectors to add, ``[B, T, width]``, summed over the levels. Has no
    parameters. ``scale`` matches the sines to the size of the token embeddings. Raises `LengthwiseError` unless
    ``base`` is positive and finite.

    >>> position = Sinusoidal(64)
    >>> x = torch.randn(2, 10, 64)
    >>> (x + position(torch.arange(10).expand(2, 10))).shape
    torch.Size([2, 10, 64])
    """

    def __init__(
        self, width: int, levels: int | Sequence[int] = 1, *,
        base: float = 10_000.0, scale: float = 1.0, slots: Slots | None = None,
    ) -> None:  # fmt: skip
        require(0 < base < math.inf, f"base must be finite and above 0, got {base}")
        super().__init__(levels, slots)
        self.width, self.scale = width, scale
        exponents = torch.arange(0, width, 2, dtype=torch.float32) / width
        self.frequencies = nn.Buffer(torch.exp(-math.log(base) * exponents), persistent=False)

    def vectors(self, ids: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B T D"]:
        angles = ids[..., None] * self.frequencies
        return self.scale * torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[..., : self.width]
