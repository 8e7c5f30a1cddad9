"""Groups of sequences of different lengths as one flat batch: no padding, and one operation for all tokens.

The tokens of all groups lie end to end along one axis. Embeddings, norms, matrices and rotations see tokens only, so
they run once over all of them; attention alone works group by group. The first axis is the run: 1, or the members of a
`TransformerStack`, which share the layout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray
from torch import Tensor

from lengthwise.models.projected_attention import attend_projected, serves_projected
from lengthwise.models.segment_attention import Piece, attend, serves
from lengthwise.models.sight import Sight
from lengthwise.models.softmax import causal_mask, mix
from lengthwise.nn.base import PositionEncoding


@dataclass(frozen=True)
class Segment:
    """Of each run, ``rows`` sequences of ``tokens`` tokens; in each, the positions ``at`` are scored, S of them."""

    rows: int
    tokens: int
    at: Int[Tensor, " S"] | slice

    @cached_property
    def positions(self) -> Int[ndarray, " S"]:
        """``at`` as indices, which must be in host memory still."""
        return np.arange(self.tokens)[self.at] if isinstance(self.at, slice) else self.at.numpy()

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
        """Split the token axis of ``x`` [R, tokens of this segment, ...] into sequences: [R·rows, tokens, ...]."""
        return x.reshape(x.shape[0] * self.rows, -1, *x.shape[2:])


def flat_positions(segments: Sequence[Segment]) -> Int[Tensor, " S"]:
    """Where the scored positions of all segments lie on the flat axis."""
    start, found = 0, []
    for segment in segments:
        firsts = np.arange(start, start + segment.size, segment.tokens)
        found.append((firsts[:, None] + segment.positions).ravel())
        start += segment.size
    return torch.from_numpy(np.concatenate(found))


@dataclass(frozen=True)
class RaggedSight(Sight):
    """Sequences of several lengths; each sees itself only. There is one bias per segment, masks included."""

    segments: tuple[Segment, ...]
    biases: tuple[Tensor, ...]
    causal: bool

    @classmethod
    def of(
        cls, segments: Sequence[Segment], ids: Int[Tensor, "R N L"], encoding: PositionEncoding,
        log_length: int | None, dtype: torch.dtype,
    ) -> RaggedSight:  # fmt: skip
        """Masks, the encoding's biases and the log-length factors of all segments."""
        device = ids.device
        biases, causal = [], True
        for segment, part in zip(segments, ids.split([s.size for s in segments], dim=1), strict=True):
            rows = segment.sequences(part)
            bias = encoding.bias(rows, rows)
            if bias is not None:
                causal = False
            biases.append(causal_mask(segment.tokens, segment.tokens, device, dtype, bias))
        scale = None
        if log_length is not None:
            counts = [torch.arange(1, s.tokens + 1, device=device, dtype=dtype).repeat(s.rows) for s in segments]
            scale = (torch.cat(counts).log() / math.log(log_length))[:, None]
        return cls(ids, scale, None, tuple(segments), tuple(biases), causal)

    def narrowed(self, at: Int[Tensor, " S"] | slice, dtype: torch.dtype) -> RaggedSight:
        """``at`` are the segments' scored positions, flat."""
        biases = tuple(bias[..., s.at, :] for s, bias in zip(self.segments, self.biases, strict=True))
        scale = None if self.scale is None else self.scale[at]
        return RaggedSight(self.ids, scale, at, self.segments, biases, False)

    def attend_projected(self, x: Tensor, gain: Tensor | None) -> Tensor | None:
        """All segments at once, for large batches in training on a CPU."""
        pieces = self._pieces()
        return attend_projected(x, gain, pieces) if serves_projected(x, pieces) else None

    def _pieces(self) -> list[Piece]:
        return [Piece(s.rows, b.shape[-2], s.tokens, b) for s, b in zip(self.segments, self.biases, strict=True)]

    def attend(self, q: Tensor, k: Tensor, v: Tensor, dropout: float) -> Tensor:
        """Segment by segment."""
        pieces = self._pieces()
        if not dropout and serves(q, k, v, pieces):
            return attend(q, k, v, pieces)
        sizes = [s.size for s in self.segments]
        asked = sizes if self.at is None else [s.scored for s in self.segments]
        mixed = []
        keys = k.split(sizes, 2)
        # Where the same vectors are both, their gradients need to be put together only once.
        values = keys if v is k else v.split(sizes, 2)
        pieces = zip(self.segments, self.biases, q.split(asked, 2), keys, values, strict=True)
        for segment, bias, *parts in pieces:
            query, key, value = (part.unflatten(2, (segment.rows, -1)).transpose(1, 2).flatten(0, 1) for part in parts)
            result = mix(query, key, value, None if self.causal else bias, self.causal, dropout)
            mixed.append(result.transpose(1, 2).reshape(len(q), -1, *result.shape[1::2]))
        return torch.cat(mixed, dim=1).flatten(2)

    def counts(self) -> tuple[int, int, int]:
        """Summed over the segments."""
        asked = sum(s.size if self.at is None else s.scored for s in self.segments)
        pairs = sum(s.tokens * (s.size if self.at is None else s.scored) for s in self.segments)
        return asked, sum(s.size for s in self.segments), pairs
