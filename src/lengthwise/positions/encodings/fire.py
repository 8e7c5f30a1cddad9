"""FIRE (Li et al. 2024): a learned function of distance, made progressive by the query's position."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.positions.encodings.base import EncodingShape
from lengthwise.positions.encodings.modules import SlottedEncoding, add, distances
from lengthwise.positions.encodings.specs import FIRE


class Fire(SlottedEncoding):
    """f(ψ(|distance|) / ψ(max(threshold, ids))) with ψ(x) = ln(c·x + 1), summed over the coupled levels."""

    def __init__(self, spec: FIRE, shape: EncodingShape) -> None:
        super().__init__(shape)
        self.threshold = nn.Parameter(torch.tensor(spec.threshold))
        self.log_scale = nn.Parameter(torch.tensor(spec.scale).log())
        self.hidden = nn.Linear(1, spec.width)
        self.out = nn.Linear(spec.width, shape.heads)

    def argument(
        self, queries: Int[Tensor, "B Q L"], keys: Int[Tensor, "B T L"], level: int
    ) -> Float[Tensor, "B Q T"]:
        """The normalized distance: in [0, 1] for keys at or before the query, 1 at key id 0 past the threshold."""
        distance = distances(queries, keys, level).abs().float()
        # The maximum, never the minimum: dividing far queries by a constant would leave the trained range. Ids that
        # fall (coupled ids) put keys above the query; then the key's id bounds the distance.
        at_least = torch.maximum(queries[:, :, None, level], keys[:, None, :, level]).float()
        normalizer = torch.maximum(self.threshold.abs(), at_least)
        scale = self.log_scale.exp()
        return torch.log1p(scale * distance) / (torch.log1p(scale * normalizer) + 1e-6)

    def bias(self, queries: Int[Tensor, "B Q L"], keys: Int[Tensor, "B T L"]) -> Float[Tensor, "B H Q T"] | None:
        """The MLP's output, per head."""
        total = None
        for level in self.coupled:
            hidden = functional.relu(self.hidden(self.argument(queries, keys, level)[..., None]))
            total = add(total, self.out(hidden).movedim(-1, 1))
        return total
