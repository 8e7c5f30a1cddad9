"""Multi-head attention over a flat batch; few queries attend to the tokens' vectors without values of all tokens."""

from __future__ import annotations

import math

from jaxtyping import Float
from torch import Tensor, nn

from lengthwise.models.kernels.context import FlatContext
from lengthwise.models.kernels.layers import Hold, RunLinear, RunScalars, product
from lengthwise.models.kernels.norms import rms_norm
from lengthwise.models.transformer import Attention


class FlatAttention(nn.Module):
    """`Attention` for R runs, with the same parameters."""

    def __init__(self, plain: Attention, hold: Hold) -> None:
        super().__init__()
        self.heads, self.head_width, self.dropout = plain.heads, plain.head_width, plain.dropout
        self.qkv, self.out = RunLinear(plain.qkv, hold), RunLinear(plain.out, hold)
        self.gain = None if plain.gain is None else RunScalars(plain.gain, hold)

    def forward(
        self, queries: Float[Tensor, "R A D"], x: Float[Tensor, "R N D"], context: FlatContext
    ) -> Float[Tensor, "R A D"]:
        """Attend from ``queries``, which are all or some tokens of ``x``, to all tokens of their sequences."""
        dropout = self.dropout if self.training else 0.0
        if not dropout and self.has_few_queries(context):
            return self.out(self.attend_unprojected(queries, x, context))
        width = x.shape[2]
        if context.query_index is None:
            q, k, v = self.by_head(self.qkv(x), 3)
        else:
            query, rest = self.qkv.parts((width, 2 * width))
            (q,), (k, v) = self.by_head(product(queries, *query), 1), self.by_head(product(x, *rest), 2)
        q, k = self.positioned(q, k, context)
        if context.encoding.has_scores:
            return self.out(context.attend_by_content(q, k, v, x, dropout))
        return self.out(context.attend(q, k, v, dropout))

    def positioned(
        self, q: Float[Tensor, "R H A d"], k: Float[Tensor, "R H N d"], context: FlatContext
    ) -> tuple[Float[Tensor, "R H A d"], Float[Tensor, "R H N d"]]:
        """Normed, rotated and scaled."""
        if self.gain is not None:
            q, k = rms_norm(q, gain=self.gain(q)), rms_norm(k)
        if context.encoding.is_rotary:
            q = context.encoding.rotate(q, context.query_ids)
            k = context.encoding.rotate_keys(k, context.ids)
        return q if context.scale is None else q * context.scale, k

    def has_few_queries(self, context: FlatContext) -> bool:
        """Whether the queries are so few that `attend_unprojected` needs at most half of the products."""
        if context.query_index is None:
            return False
        queries, keys, pairs = context.counts()
        width = self.heads * self.head_width
        return 2 * (pairs * self.heads + queries * width) <= keys * width + pairs

    def attend_unprojected(
        self, queries: Float[Tensor, "R A D"], x: Float[Tensor, "R N D"], context: FlatContext
    ) -> Float[Tensor, "R A D"]:
        """What the queries take from the values, without values of all tokens (nor keys, where nothing changes them).

        A query averages the tokens' vectors, and the average is multiplied by the value matrix; q·(Kx) is (Kᵀq)·x. A
        key's bias adds the same to all scores of a query, so it has no effect; weights sum to 1, so a value's bias is
        added once.
        """
        width, split = x.shape[2], (self.heads, self.head_width)
        query, (key, key_bias), (value, value_bias) = self.qkv.parts((width, width, width))
        (q,) = self.by_head(product(queries, *query), 1)
        x = x.to(q.dtype)
        vectors = x[:, None]
        if self.gain is None and not context.encoding.is_rotary:
            q = q * math.sqrt(self.heads) if context.scale is None else q * (context.scale * math.sqrt(self.heads))
            q, k = q @ key.unflatten(1, split), vectors
        else:
            (k,) = self.by_head(product(x, key, key_bias), 1)
            q, k = self.positioned(q, k, context)
        averages = context.attend(q, k, vectors, 0.0).unflatten(2, (self.heads, width)).transpose(1, 2)
        taken = (averages @ value.unflatten(1, split).mT).transpose(1, 2).flatten(2)
        return taken if value_bias is None else taken + value_bias[:, None]

    def by_head(self, x: Float[Tensor, "R N E"], parts: int) -> tuple[Tensor, ...]:
        """Split into ``parts`` tensors of shape [R, heads, N, head width]."""
        return x.unflatten(2, (parts, self.heads, self.head_width)).permute(2, 0, 3, 1, 4).unbind(0)
