"""Multi-head attention: from the tokens' vectors to queries, keys and values, and back."""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lengthwise.models.cache import Cache
from lengthwise.models.config import ModelConfig
from lengthwise.models.layers import Linear, by_head, product
from lengthwise.models.norms import rms_norm
from lengthwise.models.sight import BatchSight, Sight
from lengthwise.nn.base import PositionEncoding
from lengthwise.nn.parameters import Scalars


class Attention(nn.Module):
    """Multi-head attention with optional QK-norm (learned gain per head) and log-length scaling of the queries."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.head_width, self.dropout = config.heads, config.head_width, config.dropout
        self.qkv = Linear(config.width, 3 * config.width, bias=config.bias)
        self.out = Linear(config.width, config.width, bias=config.bias)
        self.gain = Scalars(torch.ones(config.heads)) if config.qk_norm else None

    def forward(
        self,
        asked: Float[Tensor, "B A D"],
        x: Float[Tensor, "B Q D"],
        encoding: PositionEncoding,
        sight: Sight,
        cache: Cache | None,
        layer: int,
    ) -> Float[Tensor, "B A D"]:
        """Attend to everything visible, from ``asked``: those tokens of ``x`` that ``sight`` asks for."""
        dropout = self.dropout if self.training else 0.0
        if cache is None and not dropout and self._few(sight):
            return self.out(self._of_inputs(asked, x, encoding, sight))
        projected = self.qkv(x) if sight.at is None else None
        if projected is not None and cache is None and not dropout and sight.scale is None and not encoding.is_rotary:
            split = projected.unflatten(2, (3, self.heads, self.head_width))
            mixed = sight.attend_projected(split, None if self.gain is None else self.gain(split[:, :, 0]))
            if mixed is not None:
                return self.out(mixed)
        q, k, v = self._projected(asked, x, encoding, sight, projected)
        if cache is not None:
            k = cache.extend("keys", k, layer=layer, axis=2)
            v = cache.extend("values", v, layer=layer, axis=2)
        return self.out(sight.attend(q, k, v, dropout))

    def weights(
        self, asked: Float[Tensor, "B A D"], x: Float[Tensor, "B Q D"], encoding: PositionEncoding, sight: BatchSight
    ) -> Float[Tensor, "B H A T"]:
        """The attention weights of the queries that ``sight`` asks for; ``sight`` must carry its mask as a bias."""
        q, k, _ = self._projected(asked, x, encoding, sight)
        logits = q @ k.mT / math.sqrt(self.head_width)
        return torch.softmax(logits if sight.bias is None else logits + sight.bias, dim=-1)

    def _projected(
        self, asked: Tensor, x: Tensor, encoding: PositionEncoding, sight: Sight, projected: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries of the asked tokens, keys and values of all: normed, rotated and scaled, [B, heads, A or Q, d]."""
        if sight.at is None:
            q, k, v = self._heads(self.qkv(x) if projected is None else projected, 3)
        else:
            first, rest = self.qkv.parts((x.shape[2], 2 * x.shape[2]))
            (q,), (k, v) = self._heads(product(asked, *first), 1), self._heads(product(x, *rest), 2)
        return *self._positioned(q, k, encoding, sight), v

    def _positioned(
        self, q: Tensor, k: Tensor, encoding: PositionEncoding, sight: Sight
    ) -> tuple[Float[Tensor, "B H A d"], Float[Tensor, "B H Q d"]]:
        """Normed, rotated and scaled."""
        if self.gain is not None:
            q = rms_norm(q, gain=self.gain(q))
            k = rms_norm(k)
        q = encoding.rotate(q, sight.ids if sight.at is None else sight.ids[:, sight.at])
        k = encoding.rotate(k, sight.ids)
        return q if sight.scale is None else q * sight.scale, k

    def _few(self, sight: Sight) -> bool:
        """Whether so few queries are asked that `_of_inputs` needs at most half of the products."""
        if sight.at is None:
            return False
        queries, keys, pairs = sight.counts()
        width = self.heads * self.head_width
        return 2 * (pairs * self.heads + queries * width) <= keys * width + pairs

    def _of_inputs(
        self, asked: Float[Tensor, "B A D"], x: Float[Tensor, "B Q D"], encoding: PositionEncoding, sight: Sight
    ) -> Float[Tensor, "B A D"]:
        """What the queries take from the values, without values of all tokens (nor keys, if nothing rotates them).

        A query mixes the tokens' vectors, and the mixture is multiplied by the value matrix; q·(Kx) is (Kᵀq)·x. A key's
        bias adds the same to all logits of a query, so that it does not count; weights sum to 1, so that a value's
        bias counts once.
        """
        width, split = x.shape[2], (self.heads, self.head_width)
        query, (key, key_bias), (value, value_bias) = self.qkv.parts((width, width, width))
        (q,) = self._heads(product(asked, *query), 1)
        x = x.to(q.dtype)
        vectors = x[:, None]
        if self.gain is None and not encoding.is_rotary:
            q = q * math.sqrt(self.heads) if sight.scale is None else q * (sight.scale * math.sqrt(self.heads))
            q, k = by_head(q, key.unflatten(1, split)), vectors
        else:
            (k,) = self._heads(product(x, key, key_bias), 1)
            q, k = self._positioned(q, k, encoding, sight)
        mixed = sight.attend(q, k, vectors, 0.0).unflatten(2, (self.heads, width)).transpose(1, 2)
        taken = by_head(mixed, value.unflatten(1, split).mT).transpose(1, 2).flatten(2)
        if value_bias is None:
            return taken
        return (taken.view(len(value_bias), -1, width) + value_bias[:, None]).view_as(taken)

    def _heads(self, x: Float[Tensor, "B Q E"], parts: int) -> tuple[Tensor, ...]:
        """Split into ``parts`` tensors of shape [B, heads, Q, head width]."""
        split = x.unflatten(2, (parts, self.heads, self.head_width))
        return _Unbound.apply(split) if x.requires_grad else split.permute(2, 0, 3, 1, 4).unbind(0)  # type: ignore[return-value]


class _Unbound(torch.autograd.Function):
    """[B, Q, parts, heads, d] as one [B, heads, Q, d] per part; gradients are put together as those lay."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, ...]:
        ctx.kind = x.shape, x.dtype
        return x.permute(2, 0, 3, 1, 4).unbind(0)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Tensor:  # type: ignore[override]
        shape, dtype = ctx.kind
        result = grads[0].new_empty(shape, dtype=dtype)
        for part, grad in zip(result.permute(2, 0, 3, 1, 4).unbind(0), grads, strict=True):
            part.copy_(grad)
        return result
