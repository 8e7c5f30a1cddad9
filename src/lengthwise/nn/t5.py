"""T5's relative bias: a learned number per head and logarithmic bucket of distances (Raffel et al. 2020)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lengthwise.core.errors import require
from lengthwise.nn.relative_bias import RelativeBias, distances
from lengthwise.nn.slots import Slots


class T5Bias(RelativeBias):
    """logit(i, j) + table[h, bucket(p_i − p_j)], summed over the levels of the ids; one table for all layers.

    With x = |p_i − p_j|, n = ``buckets`` and m = ``max_distance``, the bucket is x below n/2, and
    min(n − 1, n/2 + ⌊ln(x / (n/2)) / ln(m / (n/2)) · n/2⌋ beyond. Keys with larger ids than the query's (coupled ids
    fall) have n buckets of their own.

    Input: ids of queries ``[B, Q]`` and keys ``[B, T]``, or with a last axis of levels. Output: what to add to the
    attention logits, ``[B, heads, Q, T]``. The causal mask is not part of it. Raises `LengthwiseError` unless
    ``buckets`` ≥ 2 and ``max_distance`` > ``buckets`` / 2.

    >>> import torch
    >>> from lengthwise.nn import T5Bias
    >>> bias, ids = T5Bias(heads=4), torch.arange(10).expand(2, 10)
    >>> bias(ids).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self,
        heads: int,
        levels: int | Sequence[int] = 1,
        *,
        buckets: int = 32,
        max_distance: int = 128,
        slots: Slots | None = None,
    ) -> None:
        require(
            buckets >= 2 and max_distance > buckets // 2,
            f"needs buckets >= 2 and max_distance > buckets / 2, got {buckets} and {max_distance}",
        )
        super().__init__(levels, slots)
        self.buckets, self.max_distance = buckets, max_distance
        self.table = nn.Embedding(2 * buckets, heads)
        nn.init.normal_(self.table.weight, std=0.02)

    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        distance = distances(queries, keys)
        bucket = log_bucket(distance.abs(), self.buckets, self.max_distance)
        return self.table(bucket + self.buckets * (distance < 0)).movedim(-1, 1)


def log_bucket(distance: Int[Tensor, "*s"], buckets: int, max_distance: int) -> Int[Tensor, "*s"]:
    """Distances below buckets/2 have a bucket each; beyond, buckets widen logarithmically up to ``max_distance``."""
    exact = buckets // 2
    scaled = torch.log(distance.clamp(min=1) / exact) / math.log(max_distance / exact) * (buckets - exact)
    return torch.where(distance < exact, distance, (exact + scaled.long()).clamp(max=buckets - 1))
