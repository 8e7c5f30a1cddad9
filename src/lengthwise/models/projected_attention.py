"""Self-attention of all segments from the joint projection, as one function, for training on a CPU.

`segment_attention` with what stands before it: queries, keys and values are cut from the projection, and QK-norm is
applied, while they are copied to where the products want them; their gradients are written into the projection's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.models.norms import norm_factor
from lengthwise.models.segment_attention import Piece, bias_of, places, serves, softmax


def serves_projected(x: Float[Tensor, "R N 3 H d"], pieces: Sequence[Piece]) -> bool:
    """Whether `attend_projected` should do these; see `segment_attention.serves`."""
    q, k, v = x.transpose(1, 3).unbind(2)
    return serves(q, k, v, pieces)


def attend_projected(
    x: Float[Tensor, "R N 3 H d"], gain: Float[Tensor, "*runs H 1 1"] | None, pieces: Sequence[Piece]
) -> Float[Tensor, "R N E"]:
    """softmax(q·k/√d + bias) · v of every segment, heads side by side; with a ``gain``, of normed q and k, times it."""
    return _AttendProjected.apply(x, gain, pieces)  # type: ignore[return-value]


class _AttendProjected(torch.autograd.Function):
    """With n = r·x for the normed and c = gain/√d: logits L = c·n_q·n_kᵀ + bias.

    ∂L of the softmax gives a = ∂L·n_k and b = ∂Lᵀ·n_q, and from them ∂q = c·r·(a − n_q·mean(a∘n_q)), the same of b for
    k, and ∂c = Σ a∘n_q. Without a gain, n = x, and c is 1/√d.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, gain: Tensor | None, pieces: Sequence[Piece]) -> Tensor:
        runs, _, _, heads, width = x.shape
        result = x.new_empty(runs, x.shape[1], heads, width)
        factor = (
            None
            if gain is None
            else norm_factor(x[:, :, :2], torch.finfo(torch.promote_types(x.dtype, torch.float32)).eps)
        )
        scale, kept = 1 / math.sqrt(width), []
        for piece, _, tokens in places(pieces):
            parts = []
            for part in range(3):
                mine = _sequences(x[:, tokens, part], piece.rows)
                out = mine.new_empty(mine.shape)
                if factor is not None and part < 2:
                    torch.mul(mine, _sequences(factor[:, tokens, part], piece.rows), out=out)
                else:
                    out.copy_(mine)
                parts.append(out.view(-1, *out.shape[3:]))
            query, key, value = parts
            bias = bias_of(piece, runs, heads, value.dtype)
            if gain is None:
                logits = torch.baddbmm(bias, query, key.mT, alpha=scale)
            else:
                logits = torch.addcmul(bias, torch.bmm(query, key.mT), _each(gain * scale, runs, piece.rows))
            weights = softmax(logits).to(value.dtype)
            mixed = torch.bmm(weights, value)
            _sequences(result[:, tokens], piece.rows).copy_(mixed.view(runs, piece.rows, heads, *mixed.shape[1:]))
            kept += [query, key, value, weights]
        ctx.save_for_backward(*kept, factor, gain)
        ctx.pieces, ctx.shape, ctx.dtype = pieces, x.shape, x.dtype
        return result.flatten(2)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        *kept, factor, gain = ctx.saved_tensors
        runs, _, _, heads, width = ctx.shape
        scale = 1 / math.sqrt(width)
        to_x = grads[0].new_empty(ctx.shape, dtype=ctx.dtype)
        grad = grads[0].unflatten(2, (heads, width))
        if factor is not None:
            factor = factor * (gain.expand(runs, heads, 1, 1)[:, None, None, :, 0] * scale)
        to_gain = None
        for index, (piece, _, tokens) in enumerate(places(ctx.pieces)):
            query, key, value, weights = kept[4 * index : 4 * index + 4]
            shape = runs, piece.rows, heads, piece.tokens, width
            place = [_sequences(to_x[:, tokens, part], piece.rows) for part in range(3)]
            out = _sequences(grad[:, tokens], piece.rows).to(value.dtype).reshape(value.shape)
            place[2].copy_(torch.bmm(weights.mT, out).view(shape))
            to_weights = torch.bmm(out, value.mT)
            to_logits = torch.ops.aten._softmax_backward_data(to_weights, weights, -1, weights.dtype)
            for part, inner, normed in (
                (0, torch.bmm(to_logits, key), query),
                (1, torch.bmm(to_logits.mT, query), key),
            ):
                if factor is None:
                    torch.mul(inner.view(shape), scale, out=place[part])
                    continue
                dot = (inner * normed).sum(-1, keepdim=True)
                if part == 0 and ctx.needs_input_grad[1]:
                    share = dot.view(runs, piece.rows, heads, -1).sum((1, 3), dtype=gain.dtype)
                    to_gain = share if to_gain is None else to_gain + share
                torch.addcmul(inner, normed, dot.mul_(-1 / width), out=inner)
                torch.mul(inner.view(shape), _sequences(factor[:, tokens, part], piece.rows), out=place[part])
        if to_gain is not None:
            to_gain = (to_gain * scale)[:, :, None, None].sum_to_size(gain.shape)
        return to_x, to_gain, None


def _sequences(x: Float[Tensor, "R N H d"], rows: int) -> Float[Tensor, "R rows H T d"]:
    """The tokens of each run, sequence and head, where they lie."""
    return x.unflatten(1, (rows, -1)).transpose(2, 3)


def _each(gain: Float[Tensor, "*runs H 1 1"], runs: int, rows: int) -> Float[Tensor, "B 1 1"]:
    """A head's number for each run, sequence and head."""
    return gain.expand(runs, -1, 1, 1)[:, None].expand(-1, rows, -1, 1, 1).reshape(-1, 1, 1)
