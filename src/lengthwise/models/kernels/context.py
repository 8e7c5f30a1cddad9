"""What attention over a flat batch needs besides the tokens' vectors, and the attention itself, group by group."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from lengthwise.models.flat_groups import FlatGroup
from lengthwise.models.masks import attention_bias, causal_mask, keys_seen
from lengthwise.nn.base import PositionEncoding
from lengthwise.nn.content import content_logits
from lengthwise.nn.score_context import ScoreContext


@dataclass(frozen=True)
class FlatContext:
    """`AttentionContext` of a flat batch: a bias per group, or None where the mask is causal and nothing is added."""

    encoding: PositionEncoding
    groups: tuple[FlatGroup, ...]
    ids: Int[Tensor, "R N L"]
    biases: tuple[Tensor | None, ...]
    """Of each group, [*rows, queries, keys]."""
    scale: Float[Tensor, "*runs A 1"] | None
    query_index: Int[Tensor, " A"] | None = None
    """The tokens that are queries, as positions on the flat axis; None: all."""

    @classmethod
    def of(
        cls, encoding: PositionEncoding, groups: Sequence[FlatGroup], ids: Int[Tensor, "R N L"],
        log_length: int | None, visible: Bool[Tensor, "RB T"] | None,
    ) -> FlatContext:  # fmt: skip
        """Masks, biases and log-length factors of all groups; with ``visible`` there is one group."""
        biases, counts = [], []
        for group, part in zip(groups, ids.split([g.size for g in groups], dim=1), strict=True):
            own, tokens = group.sequences(part), group.tokens
            biases.append(attention_bias(encoding, own, own, visible))
            count = keys_seen(encoding, tokens, tokens, visible, ids.device)
            counts.append(count.repeat(group.rows) if visible is None else count.view(len(ids), 1, -1))
        scale = None
        if log_length is not None:
            scale = (torch.cat(counts, dim=-1).float().log() / math.log(log_length))[..., None]
        return cls(encoding, tuple(groups), ids, tuple(biases), scale)

    def for_queries(self, at: Int[Tensor, " A"]) -> FlatContext:
        """The same for the groups' scored positions as queries; they lie ``at`` on the flat axis."""
        biases = []
        for group, bias in zip(self.groups, self.biases, strict=True):
            if bias is None:
                bias = causal_mask(group.tokens, group.tokens, self.ids.device)
            biases.append(bias[..., group.at, :])
        scale = None if self.scale is None else self.scale[..., at, :]
        return dataclasses.replace(self, biases=tuple(biases), scale=scale, query_index=at)

    @property
    def query_ids(self) -> Int[Tensor, "R A L"]:
        """Position ids of the queries."""
        return self.ids if self.query_index is None else self.ids[:, self.query_index]

    def attend(
        self, q: Float[Tensor, "R H A d"], k: Float[Tensor, "R G N d"], v: Float[Tensor, "R F N e"], dropout: float
    ) -> Float[Tensor, "R A E"]:
        """Attention of every group, heads side by side; F and G are H, or 1 where all heads share keys or values."""
        sizes = [group.size for group in self.groups]
        queries = sizes if self.query_index is None else [group.scored for group in self.groups]
        keys = k.split(sizes, 2)
        # Where the same vectors are both, their gradients need to be put together only once.
        values = keys if v is k else v.split(sizes, 2)
        found = []
        for group, bias, *parts in zip(self.groups, self.biases, q.split(queries, 2), keys, values, strict=True):
            query, key, value = (part.unflatten(2, (group.rows, -1)).transpose(1, 2).flatten(0, 1) for part in parts)
            result = attention(query, key, value, bias, dropout)
            found.append(result.transpose(1, 2).reshape(len(q), -1, *result.shape[1::2]))
        return torch.cat(found, dim=1).flatten(2)

    def attend_by_content(
        self,
        q: Float[Tensor, "R H N d"],
        k: Float[Tensor, "R H N d"],
        v: Float[Tensor, "R H N d"],
        x: Float[Tensor, "R N D"],
        dropout: float,
    ) -> Float[Tensor, "R N E"]:
        """`attend` under an encoding that depends on the tokens' content; all tokens are queries."""
        sizes, found = [group.size for group in self.groups], []
        heads = [part.split(sizes, 2) for part in (q, k, v)]
        flat = zip(*heads, x.split(sizes, 1), self.ids.split(sizes, 1), strict=True)
        for group, bias, (*parts, inputs, ids) in zip(self.groups, self.biases, flat, strict=True):
            query, key, value = (part.unflatten(2, (group.rows, -1)).transpose(1, 2).flatten(0, 1) for part in parts)
            own = (group.sequences(inputs), group.sequences(ids))
            logits = content_logits(self.encoding, ScoreContext.of_last(group.tokens, query, key, *own, bias))
            weights = functional.dropout(torch.softmax(logits.float(), dim=-1), dropout).to(value.dtype)
            result = weights @ value
            found.append(result.transpose(1, 2).reshape(len(q), -1, *result.shape[1::2]))
        return torch.cat(found, dim=1).flatten(2)

    def counts(self) -> tuple[int, int, int]:
        """Queries, keys and pairs of them, of one run."""
        queries = [g.size if self.query_index is None else g.scored for g in self.groups]
        pairs = sum(g.tokens * count for g, count in zip(self.groups, queries, strict=True))
        return sum(queries), sum(g.size for g in self.groups), pairs


def attention(
    q: Float[Tensor, "B H A d"],
    k: Float[Tensor, "B G T d"],
    v: Float[Tensor, "B F T e"],
    bias: Float[Tensor, "*rows A T"] | None,
    dropout: float,
) -> Float[Tensor, "B H A e"]:
    """softmax(q·k/√d + bias)·v; without a bias the mask is causal.

    In bf16 on a CPU by plain products: the backward pass of torch's kernel takes 3 to 10 times as long there.
    """
    if v.shape[1] < q.shape[1]:
        return attention_shared(q, k, v[:, 0], bias)
    if not is_cpu_bf16(v):
        # A bias of another type than q is read wrongly by some kernels of torch.
        typed = None if bias is None else bias.to(q.dtype)
        return functional.scaled_dot_product_attention(q, k, v, typed, dropout, is_causal=bias is None)
    if bias is None:
        bias = causal_mask(q.shape[2], k.shape[2], q.device)
    shape = (*q.shape[:3], k.shape[2])
    bias = bias if bias.ndim == 2 else bias.expand(shape).flatten(0, 1)
    rows, keys = (x.flatten(0, 1).to(v.dtype) for x in (q, k))
    scores = torch.baddbmm(bias.to(v.dtype), rows, keys.mT, alpha=1 / math.sqrt(q.shape[3]))
    weights = functional.dropout(torch.softmax(scores.float(), dim=-1).to(v.dtype), dropout)
    return torch.bmm(weights, v.flatten(0, 1)).view(q.shape)


def is_cpu_bf16(x: Tensor) -> bool:
    """Whether autocast now makes products of ``x`` in bf16 on a CPU."""
    on = x.device.type == "cpu" and torch.is_autocast_enabled("cpu")
    return on and torch.get_autocast_dtype("cpu") == torch.bfloat16


def attention_shared(
    q: Float[Tensor, "B H A d"], k: Float[Tensor, "B G T d"], v: Float[Tensor, "B T e"], bias: Tensor | None
) -> Float[Tensor, "B H A e"]:
    """`attention` with values that all heads share: one product with heads and queries side by side."""
    scores = q @ k.mT if k.shape[1] == q.shape[1] else (q.flatten(1, 2) @ k[:, 0].mT).unflatten(1, q.shape[1:3])
    scores = scores / math.sqrt(q.shape[3])
    weights = torch.softmax(scores if bias is None else scores + bias, dim=-1).to(v.dtype)
    return (weights.flatten(1, 2) @ v).unflatten(1, q.shape[1:3])
