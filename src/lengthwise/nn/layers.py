"""Encodings and attention windows by layer: local RoPE and global NoPE in turns (SWAN, Puvvada et al. 2025)."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Float, Int
from torch import Tensor

from lengthwise.core.errors import require
from lengthwise.nn.base import Modules, PositionEncoding, add


class LayerEncodings(PositionEncoding):
    """Layer i of a model uses ``parts[order[i % len(order)]]``; layers with the same part share its parameters.

    Input: the encodings and, if their order is not 0, 1, 2, …, the ``order``; a part's attribute ``window`` bounds how
    many keys a query sees in its layers. Output: ``layer(i)`` is the encoding of a layer, to be used as any other, and
    ``embed(ids)`` the sum of what the parts add to the token embedding, ``[B, T, D]`` or None. Raises
    `LengthwiseError` without parts, for an index that is no part, and for a window below 1.

    >>> import torch
    >>> from lengthwise.nn import LayerEncodings, NoPE, Rotary
    >>> local = Rotary(64)
    >>> local.window = 128
    >>> encodings = LayerEncodings([local, NoPE()], order=[0, 0, 0, 1])
    >>> [type(encodings.layer(i)).__name__ for i in range(5)]
    ['Rotary', 'Rotary', 'Rotary', 'NoPE', 'Rotary']
    """

    def __init__(self, parts: Sequence[PositionEncoding], order: Sequence[int] | None = None) -> None:
        super().__init__()
        order = tuple(range(len(parts)) if order is None else order)
        require(len(order) > 0, "the list of encodings is empty; give at least one")
        require(
            all(0 <= index < len(parts) for index in order),
            f"the order {list(order)} must name parts by the numbers 0 to {len(parts) - 1}",
        )
        for part in parts:
            require(part.window is None or part.window >= 1, f"a window must be at least 1, got {part.window}")
        self.parts = Modules[PositionEncoding](parts)
        self.order, self.period = order, len(order)

    def layer(self, index: int) -> PositionEncoding:
        return self.parts[self.order[index % len(self.order)]]

    def embed(self, ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B T D"] | None:
        total = None
        for part in self.parts:
            added = part.embed(ids)
            total = total if added is None else add(total, added)
        return total

    def forward(self, ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B T D"] | None:
        return self.embed(ids)

    @property
    def is_rotary(self) -> bool:
        return any(part.is_rotary for part in self.parts)

    @property
    def has_bias(self) -> bool:
        """Whether attention of a layer needs a number for every pair of tokens: a bias or the mask of a window."""
        return any(part.has_bias or part.window is not None for part in self.parts)

    @property
    def has_scores(self) -> bool:
        return any(part.has_scores for part in self.parts)
