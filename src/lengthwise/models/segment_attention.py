"""Attention of all segments of a flat batch as one function, forward and backward, for training on a CPU.

In bf16 torch's own kernel is slow there (see `softmax.mix`), and of plain products what costs is the number of
operations on a segment's small matrices. Here each segment takes a copy of its queries, keys and values; gradients are
written where they belong, so that nothing is cut or joined by operations of its own. In float32 that pays for large
batches of short sequences, and for few queries of vectors that are key and value, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Piece:
    """Of each run, ``rows`` sequences of ``asked`` queries and ``tokens`` keys; ``bias`` holds the mask, too."""

    rows: int
    asked: int
    tokens: int
    bias: Float[Tensor, "*rows A T"]


LARGE, SHORT = 1 << 18, 128
"""float32: from how many numbers of the queries on, and up to how many tokens of a sequence, `attend` is the faster;
where one tensor is both keys and values (`Attention._of_inputs`), any number of queries will do."""


def serves(q: Tensor, k: Tensor, v: Tensor, pieces: Sequence[Piece]) -> bool:
    """Whether `attend` should do these: training on a CPU, a key and a value per head, no gradient of a bias."""
    if v.device.type != "cpu" or not (q.shape[1] == k.shape[1] == v.shape[1]):
        return False
    short = all(piece.tokens <= SHORT for piece in pieces)
    large = v is k or q.numel() >= LARGE
    if v.dtype != torch.bfloat16 and not (q.dtype == v.dtype == torch.float32 and large and short):
        return False
    trains = torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad)
    return trains and not any(piece.bias.requires_grad for piece in pieces)


def attend(
    q: Float[Tensor, "R H A d"], k: Float[Tensor, "R H N d"], v: Float[Tensor, "R H N e"], pieces: Sequence[Piece]
) -> Float[Tensor, "R A E"]:
    """softmax(q·k/√d + bias) · v of every segment, heads side by side; products are made in the type of ``v``.

    Vectors that are both keys and values, passed as the same tensor, are copied, and given a gradient, once.
    """
    return _Attend.apply(q, k, None if v is k else v, pieces)  # type: ignore[return-value]


class _Attend(torch.autograd.Function):
    """With P = softmax(L) and O = P·V: ∂V = Pᵀ·∂O, ∂L = P∘(∂P − rows' sums of P∘∂P) with ∂P = ∂O·Vᵀ."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, own: Tensor | None, pieces: Sequence[Piece]) -> Tensor:
        v = k if own is None else own
        runs, heads = q.shape[:2]
        result = v.new_empty(runs, q.shape[2], heads, v.shape[3])
        scale, kept = 1 / math.sqrt(q.shape[3]), []
        for piece, asked, tokens in places(pieces):
            query = _sequences(q[:, :, asked], piece.rows, v.dtype)
            value = _sequences(v[:, :, tokens], piece.rows, v.dtype)
            key = value if own is None else _sequences(k[:, :, tokens], piece.rows, v.dtype)
            weights = softmax(torch.baddbmm(bias_of(piece, runs, heads, v.dtype), query, key.mT, alpha=scale))
            _places_of(result, asked, piece.rows).copy_(_by_head(torch.bmm(weights, value), runs, heads))
            kept += [query, key, value, weights]
        ctx.save_for_backward(*kept)
        ctx.pieces, ctx.scale = pieces, scale
        ctx.kinds = [(x.shape, x.dtype) for x in (q, k, own) if x is not None]
        return result.flatten(2)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        kept, pieces, scale = ctx.saved_tensors, ctx.pieces, ctx.scale
        runs, heads = ctx.kinds[0][0][:2]
        to_q, to_k, *to_v = (
            grads[0].new_empty(runs, shape[2], heads, shape[3], dtype=dtype) for shape, dtype in ctx.kinds
        )
        grad = grads[0].unflatten(2, (heads, -1)).transpose(1, 2)
        for index, (piece, asked, tokens) in enumerate(places(pieces)):
            query, key, value, weights = kept[4 * index : 4 * index + 4]
            out = _sequences(grad[:, :, asked], piece.rows, value.dtype)
            to_weights = torch.bmm(out, value.mT)
            to_logits = torch.ops.aten._softmax_backward_data(to_weights, weights, -1, weights.dtype).mul_(scale)
            _places_of(to_q, asked, piece.rows).copy_(_by_head(torch.bmm(to_logits, key), runs, heads))
            left, right = to_logits, query
            if to_v:
                to_value = torch.bmm(weights.mT, out)
                _places_of(to_v[0], tokens, piece.rows).copy_(_by_head(to_value, runs, heads))
            else:
                # Both gradients of what is key and value as one product: they are written once.
                left, right = torch.cat([to_logits, weights], dim=1), torch.cat([query, out], dim=1)
            place = to_k[:, tokens]
            if place.is_contiguous() and heads == 1 and to_k.dtype == right.dtype:
                torch.bmm(left.mT, right, out=place.view(piece.rows, -1, place.shape[-1]))
            else:
                _places_of(to_k, tokens, piece.rows).copy_(_by_head(torch.bmm(left.mT, right), runs, heads))
        return to_q.transpose(1, 2), to_k.transpose(1, 2), to_v[0].transpose(1, 2) if to_v else None, None


def places(pieces: Sequence[Piece]) -> list[tuple[Piece, slice, slice]]:
    """Each with where its queries and its tokens lie on the flat axis."""
    query = token = 0
    found = []
    for piece in pieces:
        asked, tokens = piece.rows * piece.asked, piece.rows * piece.tokens
        found.append((piece, slice(query, query + asked), slice(token, token + tokens)))
        query, token = query + asked, token + tokens
    return found


def bias_of(piece: Piece, runs: int, heads: int, dtype: torch.dtype) -> Float[Tensor, "*rows A T"]:
    """One for all, or one for each run, sequence and head."""
    bias = piece.bias.to(dtype)
    if bias.ndim == 2:
        return bias
    return bias.expand(runs * piece.rows, heads, *bias.shape[-2:]).reshape(-1, *bias.shape[-2:])


def softmax(logits: Float[Tensor, "B A T"]) -> Float[Tensor, "B A T"]:
    """Over the keys; in bf16 torch's own kernel is slow but for rows of a multiple of 32."""
    if logits.dtype == torch.bfloat16:
        return torch.softmax(logits.float(), dim=-1).bfloat16()
    return torch.softmax(logits, dim=-1)


def _sequences(x: Float[Tensor, "R H N d"], rows: int, dtype: torch.dtype) -> Float[Tensor, "B T d"]:
    """A matrix per run, sequence and head, in one block of memory."""
    return x.unflatten(2, (rows, -1)).transpose(1, 2).to(dtype).reshape(-1, x.shape[2] // rows, x.shape[3]).contiguous()


def _places_of(x: Float[Tensor, "R N H d"], where: slice, rows: int) -> Float[Tensor, "R B T H d"]:
    return x[:, where].unflatten(1, (rows, -1))


def _by_head(x: Float[Tensor, "C T d"], runs: int, heads: int) -> Float[Tensor, "R B T H d"]:
    return x.view(runs, -1, heads, *x.shape[1:]).transpose(2, 3)
