"""FIRE: a learned function of distance, relative to the query's position (Li et al. 2024)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.errors import require
from lengthwise.nn.parameters import Scalars
from lengthwise.nn.relative_bias import RelativeBias, by_rows, distances
from lengthwise.nn.slots import Slots


class FIRE(RelativeBias):
    """logit(i, j) + f_h(ψ(|p_i − p_j|) / ψ(max(threshold, p_i, p_j))), ψ(x) = ln(c·x + 1), f an MLP 1 → width → heads.

    ``threshold`` and c (``scale`` is its initial value) are learned; one bias serves all layers. The normalizer is the
    maximum of the threshold and the position, so that f sees numbers in [0, 1] only. The key's id is part of it
    because coupled ids can fall; for ids that rise it changes nothing. Start with a threshold of about the training
    length: above all test lengths, FIRE would be a plain function of distance.

    Input: ids of queries ``[B, Q]`` and keys ``[B, T]``, or with a last axis of levels, whose biases are summed.
    Output: what to add to the attention logits, ``[B, heads, Q, T]``. The causal mask is not part of it. Raises
    `LengthwiseError` unless ``threshold``, ``width`` and ``scale`` are positive and finite.

    >>> import torch
    >>> from lengthwise.nn import FIRE
    >>> fire, ids = FIRE(heads=4), torch.arange(10).expand(2, 10)
    >>> fire(ids).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self,
        heads: int,
        levels: int | Sequence[int] = 1,
        *,
        threshold: float = 32.0,
        width: int = 32,
        scale: float = 0.1,
        slots: Slots | None = None,
    ) -> None:
        for name, value in (("threshold", threshold), ("width", width), ("scale", scale)):
            require(0 < value < math.inf, f"{name} must be finite and above 0, got {value}")
        super().__init__(levels, slots)
        self.threshold = Scalars(torch.tensor(float(threshold)))
        self.log_scale = Scalars(torch.tensor(float(scale)).log())
        self.hidden = nn.Linear(1, width)
        self.out = nn.Linear(width, heads)

    def argument(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"]) -> Float[Tensor, "B Q T"]:
        """The normalized distance: in [0, 1], and 1 at key id 0 for queries beyond the threshold."""
        distance = distances(queries, keys).abs().float()
        position = torch.maximum(queries[:, :, None], keys[:, None, :]).float()
        # The minimum instead of the maximum is a common bug: far queries would leave the range that training covers.
        normalizer = torch.maximum(self.threshold(position).abs(), position)
        scale = self.log_scale(distance).exp()
        return torch.log1p(scale * distance) / (torch.log1p(scale * normalizer) + 1e-6)

    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        """The MLP's output for every pair of tokens, per head; the levels share the MLP."""
        return by_rows(self._mlp, queries, keys)

    def _mlp(self, queries: Tensor, keys: Tensor) -> Tensor:
        hidden = functional.relu(self.hidden(self.argument(queries, keys)[..., None]))
        return self.out(hidden).movedim(-1, 1)
