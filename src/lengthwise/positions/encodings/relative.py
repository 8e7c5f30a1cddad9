"""Encodings that add a function of the distance of ids to the attention logits: ALiBi and T5."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lengthwise.positions.encodings.base import EncodingShape
from lengthwise.positions.encodings.modules import SlottedEncoding, add, distances
from lengthwise.positions.encodings.specs import T5, ALiBi


class LinearBias(SlottedEncoding):
    """−m_h · |distance| with fixed slopes m_h, summed over the coupled levels."""

    slopes: Tensor

    def __init__(self, spec: ALiBi, shape: EncodingShape) -> None:
        super().__init__(shape)
        del spec
        self.register_buffer("slopes", torch.tensor(alibi_slopes(shape.heads)), persistent=False)

    def bias(self, queries: Int[Tensor, "B Q L"], keys: Int[Tensor, "B T L"]) -> Float[Tensor, "B H Q T"] | None:
        """The penalties."""
        total = None
        for level in self.coupled:
            distance = distances(queries, keys, level).abs()
            total = add(total, -self.slopes[:, None, None] * distance[:, None])
        return total


def alibi_slopes(heads: int) -> list[float]:
    """2^(−8h/H) for h = 1..H; where H is no power of two, the next power's odd members fill the list up."""
    power = 2 ** math.floor(math.log2(heads))
    slopes = [2.0 ** (-8 * (h + 1) / power) for h in range(power)]
    between = [2.0 ** (-8 * (h + 1) / (2 * power)) for h in range(0, 2 * power, 2)]
    return slopes + between[: heads - power]


class BucketBias(SlottedEncoding):
    """A learned number per head and bucket of distances, summed over the coupled levels."""

    def __init__(self, spec: T5, shape: EncodingShape) -> None:
        super().__init__(shape)
        self.buckets, self.max_distance = spec.buckets, spec.max_distance
        self.table = nn.Embedding(2 * spec.buckets, shape.heads)
        nn.init.normal_(self.table.weight, std=0.02)

    def bias(self, queries: Int[Tensor, "B Q L"], keys: Int[Tensor, "B T L"]) -> Float[Tensor, "B H Q T"] | None:
        """The looked-up numbers."""
        total = None
        for level in self.coupled:
            distance = distances(queries, keys, level)
            bucket = log_bucket(distance.abs(), self.buckets, self.max_distance)
            total = add(total, self.table(bucket + self.buckets * (distance < 0)).movedim(-1, 1))
        return total


def log_bucket(distance: Int[Tensor, "*s"], buckets: int, max_distance: int) -> Int[Tensor, "*s"]:
    """Distances below buckets/2 have a bucket each; beyond, buckets widen logarithmically up to ``max_distance``."""
    exact = buckets // 2
    scaled = torch.log(distance.clamp(min=1) / exact) / math.log(max_distance / exact) * (buckets - exact)
    return torch.where(distance < exact, distance, (exact + scaled.long()).clamp(max=buckets - 1))
