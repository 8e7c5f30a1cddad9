"""Groups of sequences of different lengths as one flat batch without padding.

The tokens of all groups lie end to end along one axis; a list of `FlatGroup` gives the size of each group in turn.
The first axis is the run: 1, or the number of models in a `TransformerStack`, whose groups have the same layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor


@dataclass(frozen=True)
class FlatGroup:
    """Of each run, ``rows`` sequences of ``tokens`` tokens; in each, the S positions ``at`` are scored."""

    rows: int
    tokens: int
    at: Int[Tensor, " S"] | slice

    @property
    def size(self) -> int:
        """Tokens of each run."""
        return self.rows * self.tokens

    @property
    def scored(self) -> int:
        """Scored tokens of each run."""
        each = len(range(self.tokens)[self.at]) if isinstance(self.at, slice) else len(self.at)
        return self.rows * each

    def sequences(self, x: Tensor) -> Tensor:
        """Split the token axis of ``x`` [R, tokens of this group, …] into sequences: [R·rows, tokens, …]."""
        return x.reshape(x.shape[0] * self.rows, -1, *x.shape[2:])


def flat_positions(groups: Sequence[FlatGroup]) -> Int[Tensor, " S"]:
    """Where the scored positions of all groups lie on the flat axis."""
    start, found = 0, []
    for group in groups:
        device = None if isinstance(group.at, slice) else group.at.device
        positions = torch.arange(group.tokens, device=device)[group.at]
        firsts = torch.arange(start, start + group.size, group.tokens, device=device)
        found.append((firsts[:, None] + positions).flatten())
        start += group.size
    return torch.cat(found)
