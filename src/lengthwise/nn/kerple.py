"""KERPLE: a learned penalty that grows with the logarithm or a power of the distance (Chi et al. 2022)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from lengthwise.core.errors import require
from lengthwise.nn.parameters import Scalars
from lengthwise.nn.relative_bias import RelativeBias, distances
from lengthwise.nn.slots import Slots


class Kerple(RelativeBias):
    """logit(i, j) − r_h · ln(1 + s_h · |p_i − p_j|), or with ``form="power"``, logit(i, j) − r_h · |p_i − p_j|^s_h.

    r_h > 0 and s_h (> 0, and below 2 as a power) are learned per head and shared by the layers: the softplus of a
    parameter, or twice its sigmoid. They start as published, r_h uniform in 0 … 2 and s_h in 0 … 1 (``log``), or both
    in 0 … 1 (``power``); the authors bound them by clipping instead.

    Input: ids of queries ``[B, Q]`` and keys ``[B, T]``, or with a last axis of levels, whose biases are summed.
    Output: what to add to the attention logits, ``[B, heads, Q, T]``. The causal mask is not part of it. Raises
    `LengthwiseError` without heads and for an unknown form.

    >>> import torch
    >>> from lengthwise.nn import Kerple
    >>> kerple, ids = Kerple(heads=4), torch.arange(10).expand(2, 10)
    >>> kerple(ids).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self, heads: int, levels: int | Sequence[int] = 1, *, form: str = "log", slots: Slots | None = None
    ) -> None:
        require(heads >= 1, f"heads must be at least 1, got {heads}")
        require(form in ("log", "power"), f"form must be 'log' or 'power', got {form!r}")
        super().__init__(levels, slots)
        self.form = form
        factor, shape = torch.rand(2, heads).clamp(min=0.01, max=0.99)
        self.factor = Scalars((2 * factor if form == "log" else factor).expm1().log())
        self.shape = Scalars(shape.expm1().log() if form == "log" else (shape / 2).logit())

    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        """The penalties, with the same numbers for every level."""
        distance = distances(queries, keys).abs().float()[:, None]
        factor, shape = functional.softplus(self.factor(distance)), self.shape(distance)
        if self.form == "log":
            return -factor * torch.log1p(functional.softplus(shape) * distance)
        # At distance 0 the power is 0; ln 0 would make its gradient undefined.
        power = torch.exp(2 * shape.sigmoid() * distance.clamp(min=1).log())
        return -factor * power * (distance > 0)
