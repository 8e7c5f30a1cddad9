"""softmax(q·k/√d + bias)·v: the ways to compute it that every sight shares, the masks, and the obvious formula."""

from __future__ import annotations

import functools
import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional


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
    """``bias`` (or zeros) with −∞ at keys behind the query, when the last key is the last query's own.

    A small mask without bias is made once and must not be written to.
    """
    if bias is None and keys <= _SMALL:
        return _small_mask(queries, keys, device, dtype)
    return _masked(queries, keys, device, dtype, bias)


_SMALL = 256
"""Up to how many keys masks are kept: at most 32 MiB of them in float32."""


@functools.lru_cache(maxsize=128)
def _small_mask(queries: int, keys: int, device: torch.device, dtype: torch.dtype) -> Float[Tensor, "Q T"]:
    # What is first made for a test must serve training, too.
    with torch.inference_mode(False):
        return _masked(queries, keys, device, dtype, None)


def _masked(
    queries: int, keys: int, device: torch.device, dtype: torch.dtype, bias: Tensor | None
) -> Float[Tensor, "*rows Q T"]:
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
