"""Groups of sequences of different lengths as one flat batch without padding.

The tokens of all groups lie end to end along one axis; a `Segment` says where the sequences of one group begin and end.
The first axis is the run: 1, or the number of models in a `TransformerStack`, whose groups have the same layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor


@dataclass(frozen=True)
class Segment:
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
        """Split the token axis of ``x`` [R, tokens of this segment, …] into sequences: [R·rows, tokens, …]."""
        return x.reshape(x.shape[0] * self.rows, -1, *x.shape[2:])


def flat_positions(segments: Sequence[Segment]) -> Int[Tensor, " S"]:
    """Where the scored positions of all segments lie on the flat axis."""
    start, found = 0, []
    for segment in segments:
        device = None if isinstance(segment.at, slice) else segment.at.device
        positions = torch.arange(segment.tokens, device=device)[segment.at]
        firsts = torch.arange(start, start + segment.size, segment.tokens, device=device)
        found.append((firsts[:, None] + positions).flatten())
        start += segment.size
    return torch.cat(found)
