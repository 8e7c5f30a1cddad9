"""Multi-head attention, and what its queries may see."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.models.cache import Cache
from lengthwise.models.config import ModelConfig
from lengthwise.models.layers import Linear, by_head, product
from lengthwise.models.norms import rms_norm
from lengthwise.positions.encodings.modules import PositionEncoding, Scalars


@dataclass(frozen=True)
class Sight(ABC):
    """What attention of this call may see: the ids of the new tokens and the log-length factor of their queries.

    ``at`` limits the queries to A of the new tokens; ids are those of all new tokens still.
    """

    ids: Int[Tensor, "B Q L"]
    scale: Float[Tensor, "... A 1"] | None
    at: Int[Tensor, " S"] | slice | None

    @abstractmethod
    def narrowed(self, at: Int[Tensor, " S"] | slice, dtype: torch.dtype) -> Sight:
        """The same for the queries ``at`` only."""

    @abstractmethod
    def attend(
        self, q: Float[Tensor, "B H A d"], k: Float[Tensor, "B K T d"], v: Float[Tensor, "B V T e"], dropout: float
    ) -> Float[Tensor, "B A E"]:
        """What every query takes from the values that it sees, heads side by side.

        Keys and values may have one head for all queries' heads; then ``dropout`` must be 0.
        """

    def attend_projected(
        self, x: Float[Tensor, "B Q 3 H d"], gain: Float[Tensor, "... H 1 1"] | None
    ) -> Float[Tensor, "B Q E"] | None:
        """The same from the joint projection, with QK-norm by its ``gain``, where there is a faster way; or None."""
        del x, gain

    @abstractmethod
    def counts(self) -> tuple[int, int, int]:
        """Queries, keys and pairs of them, of one run or row."""


@dataclass(frozen=True)
class BatchSight(Sight):
    """Of sequences of equal length, whose keys may begin in a cache; ``bias`` is added to the logits."""

    key_ids: Int[Tensor, "B T L"]
    bias: Float[Tensor, "*rows A T"] | None
    causal: bool

    def narrowed(self, at: Int[Tensor, " S"] | slice, dtype: torch.dtype) -> BatchSight:
        """The same for the queries ``at`` only, with the causal mask as a bias."""
        bias = self.bias
        if bias is None and self.causal:
            bias = causal_mask(self.ids.shape[1], self.key_ids.shape[1], self.ids.device, dtype)
        scale = None if self.scale is None else self.scale[..., at, :]
        return BatchSight(self.ids, scale, at, self.key_ids, None if bias is None else bias[..., at, :], False)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, dropout: float) -> Tensor:
        """All sequences at once."""
        return mix(q, k, v, self.bias, self.causal, dropout).transpose(1, 2).flatten(2)

    def counts(self) -> tuple[int, int, int]:
        """Every query meets every key."""
        keys, queries = self.key_ids.shape[1], self.ids.shape[1]
        if self.at is not None:
            queries = len(range(queries)[self.at]) if isinstance(self.at, slice) else len(self.at)
        return queries, keys, queries * keys


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
        if projected is not None and cache is None and not dropout and sight.scale is None and not turns(encoding):
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
        """What the queries take from the values, without values of all tokens (nor keys, if nothing turns them).

        A query mixes the tokens' vectors, and the mixture is multiplied by the value matrix; q·(Kx) is (Kᵀq)·x. A key's
        bias adds the same to all logits of a query, so that it does not count; weights sum to 1, so that a value's
        bias counts once.
        """
        width, split = x.shape[2], (self.heads, self.head_width)
        query, (key, key_bias), (value, value_bias) = self.qkv.parts((width, width, width))
        (q,) = self._heads(product(asked, *query), 1)
        x = x.to(q.dtype)
        vectors = x[:, None]
        if self.gain is None and not turns(encoding):
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


def turns(encoding: PositionEncoding) -> bool:
    """Whether the encoding rotates queries and keys."""
    return type(encoding).rotate is not PositionEncoding.rotate


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


def mix(
    q: Float[Tensor, "B H A d"],
    k: Float[Tensor, "B K T d"],
    v: Float[Tensor, "B V T e"],
    bias: Float[Tensor, "*rows A T"] | None,
    causal: bool,
    dropout: float,
) -> Float[Tensor, "B H A e"]:
    """softmax(q·k/√d + bias) over the keys (up to the query, if ``causal``), times the values.

    torch's own kernel, but for bf16 training on a CPU: its backward pass there is no matrix product of the hardware
    and takes 3 to 10 times as long as plain products at the lengths that we train on. Values (and keys) of one head are
    shared by all heads.
    """
    if v.shape[1] < q.shape[1]:
        return _mix_shared(q, k, v[:, 0], bias)
    if not (v.dtype == torch.bfloat16 and v.device.type == "cpu" and v.requires_grad):
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=bias, is_causal=causal, dropout_p=dropout)
    if causal:
        bias = causal_mask(q.shape[2], k.shape[2], q.device, q.dtype, bias)
    shape = (*q.shape[:3], k.shape[2])
    rows, keys, scale = q.flatten(0, 1), k.flatten(0, 1).mT, 1 / math.sqrt(q.shape[3])
    if bias is None:
        logits = torch.bmm(rows * scale, keys)
    else:
        bias = bias if bias.ndim == 2 else bias.expand(shape).flatten(0, 1)
        logits = torch.baddbmm(bias.to(v.dtype), rows.to(v.dtype), keys.to(v.dtype), alpha=scale)
    weights = functional.dropout(torch.softmax(logits, dim=-1), dropout)
    return torch.bmm(weights, v.flatten(0, 1)).view(q.shape)


def _mix_shared(q: Tensor, k: Tensor, v: Float[Tensor, "B T e"], bias: Tensor | None) -> Float[Tensor, "B H A e"]:
    """`mix` of values that all heads share: one product with heads and queries side by side."""
    logits = q @ k.mT if k.shape[1] == q.shape[1] else (q.flatten(1, 2) @ k[:, 0].mT).unflatten(1, q.shape[1:3])
    logits = logits / math.sqrt(q.shape[3])
    weights = torch.softmax(logits if bias is None else logits + bias, dim=-1).to(v.dtype)
    return (weights.flatten(1, 2) @ v).unflatten(1, q.shape[1:3])


def hide(
    visible: Bool[Tensor, "B T"], dtype: torch.dtype, bias: Float[Tensor, "*rows T T"] | None
) -> Float[Tensor, "B H T T"]:
    """``bias`` (or zeros) with −∞ at hidden keys, except for a token's own query, which must see something."""
    tokens = visible.shape[1]
    hidden = ~visible[:, None, None, :] & ~torch.eye(tokens, dtype=torch.bool, device=visible.device)
    base = torch.zeros(len(visible), 1, tokens, tokens, device=visible.device, dtype=dtype) if bias is None else bias
    return base.masked_fill(hidden, -math.inf)


def causal_mask(
    queries: int, keys: int, device: torch.device, dtype: torch.dtype, bias: Tensor | None = None
) -> Float[Tensor, "*rows Q T"]:
    """``bias`` (or zeros) with −∞ at keys behind the query, when the last key is the last query's own."""
    index = torch.arange(keys, device=device)
    base = torch.zeros(queries, keys, device=device, dtype=dtype) if bias is None else bias
    return base.masked_fill(index[None, :] > index[keys - queries :, None], -math.inf)


def attention_reference(
    q: Float[Tensor, "B H Q d"], k: Float[Tensor, "B H T d"], v: Float[Tensor, "B H T d"], bias: Tensor | None
) -> Float[Tensor, "B H Q d"]:
    """The slow, obvious formula: softmax(q·k/√d + bias) over the keys up to the query. The oracle of the fast path."""
    queries, keys = q.shape[2], k.shape[2]
    logits = q @ k.mT / math.sqrt(q.shape[3])
    if bias is not None:
        logits = logits + bias
    visible = torch.arange(keys)[None, :] <= torch.arange(queries)[:, None] + keys - queries
    return torch.softmax(logits.masked_fill(~visible, -math.inf), dim=-1) @ v
