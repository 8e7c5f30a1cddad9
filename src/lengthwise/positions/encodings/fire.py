"""FIRE (Li et al. 2024): a learned function of distance, made progressive by the query's position."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.positions.encodings.base import EncodingShape
from lengthwise.positions.encodings.modules import Scalars, SlottedEncoding, add, distances
from lengthwise.positions.encodings.specs import FIRE

PAIRS = 1 << 20
"""Pairs of tokens whose hidden layer is in memory at a time when nothing is trained."""


class Fire(SlottedEncoding):
    """f(ψ(|distance|) / ψ(max(threshold, ids))) with ψ(x) = ln(c·x + 1), summed over the coupled levels."""

    def __init__(self, spec: FIRE, shape: EncodingShape) -> None:
        super().__init__(shape)
        self.threshold = Scalars(torch.tensor(spec.threshold))
        self.log_scale = Scalars(torch.tensor(spec.scale).log())
        self.hidden = nn.Linear(1, spec.width)
        self.out = nn.Linear(spec.width, shape.heads)

    def argument(self, queries: Int[Tensor, "B Q L"], keys: Int[Tensor, "B T L"], level: int) -> Float[Tensor, "B Q T"]:
        """The normalized distance: in [0, 1] for keys at or before the query, 1 at key id 0 past the threshold."""
        distance = distances(queries, keys, level).abs().float()
        # The maximum, never the minimum: dividing far queries by a constant would leave the trained range. Ids that
        # fall (coupled ids) put keys above the query; then the key's id bounds the distance.
        at_least = torch.maximum(queries[:, :, None, level], keys[:, None, :, level]).float()
        normalizer = torch.maximum(self.threshold(at_least).abs(), at_least)
        scale = self.log_scale(distance).exp()
        return torch.log1p(scale * distance) / (torch.log1p(scale * normalizer) + 1e-6)

    def bias(self, queries: Int[Tensor, "B Q L"], keys: Int[Tensor, "B T L"]) -> Float[Tensor, "B H Q T"] | None:
        """The MLP's output, per head."""
        if torch.is_grad_enabled() or not self.coupled:
            return self._bias(queries, keys)
        # The hidden layer holds `width` numbers per pair of tokens: gigabytes at 2,000 tokens, were it made at once.
        rows = max(1, PAIRS // (keys.shape[0] * keys.shape[1]))
        pieces = [self._bias(piece, keys) for piece in queries.split(rows, dim=1)]
        return torch.cat(pieces, dim=2)  # type: ignore[arg-type]

    def _bias(self, queries: Int[Tensor, "B Q L"], keys: Int[Tensor, "B T L"]) -> Float[Tensor, "B H Q T"] | None:
        total = None
        for level in self.coupled:
            hidden = functional.relu(self.hidden(self.argument(queries, keys, level)[..., None]))
            total = add(total, self.out(hidden).movedim(-1, 1))
        return total
