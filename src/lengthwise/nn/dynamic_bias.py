"""Dynamic position bias: a small MLP on the signed distance (Wang et al. 2021, CrossFormer)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.errors import require
from lengthwise.nn.module_list import Modules
from lengthwise.nn.relative_bias import RelativeBias, by_rows, distances
from lengthwise.nn.slots import Slots


class DynamicBias(RelativeBias):
    """logit(i, j) + f_h(x), x = sign(Δ) · ln(1 + |Δ|), Δ = p_i − p_j; f an MLP 1 → width → … → heads with SiLU.

    ``depth`` is the number of hidden layers. With ``log=False``, x = Δ. One MLP serves all layers.

    Input: ids of queries ``[B, Q]`` and keys ``[B, T]``, or with a last axis of levels, whose biases are summed.
    Output: what to add to the attention logits, ``[B, heads, Q, T]``. The causal mask is not part of it. Raises
    `LengthwiseError` unless ``width`` and ``depth`` are at least 1.

    >>> import torch
    >>> from lengthwise.nn import DynamicBias
    >>> bias, ids = DynamicBias(heads=4), torch.arange(10).expand(2, 10)
    >>> bias(ids).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self,
        heads: int,
        levels: int | Sequence[int] = 1,
        *,
        width: int = 32,
        depth: int = 2,
        log: bool = True,
        slots: Slots | None = None,
    ) -> None:
        require(heads >= 1, f"heads must be at least 1, got {heads}")
        require(width >= 1 and depth >= 1, f"width and depth must be at least 1, got {width} and {depth}")
        super().__init__(levels, slots)
        self.log = log
        widths = [1] + [width] * depth
        self.hidden = Modules[nn.Linear](nn.Linear(*pair) for pair in pairwise(widths))
        self.out = nn.Linear(width, heads)

    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        """The MLP's output for every pair of tokens, per head; the levels share the MLP."""
        return by_rows(self._mlp, queries, keys)

    def _mlp(self, queries: Tensor, keys: Tensor) -> Tensor:
        distance = distances(queries, keys).float()
        x = (distance.sign() * distance.abs().log1p() if self.log else distance)[..., None]
        for layer in self.hidden:
            x = functional.silu(layer(x))
        return self.out(x).movedim(-1, 1)
