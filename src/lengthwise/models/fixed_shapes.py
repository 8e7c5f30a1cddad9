"""Linear layers for bf16 training on a CPU whose number of tokens differs from step to step.

There, torch compiles a product anew for every shape that it has not met lately, which takes longer than the product
itself. Rows are multiplied in a few sizes only: a large block, and what remains with some rows of zeros.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional


def linear(
    x: Float[Tensor, "*rest D"], weight: Float[Tensor, "E D"], bias: Float[Tensor, " E"] | None
) -> Float[Tensor, "*rest E"]:
    """``x · weightᵀ + bias``; under bf16 autocast on a CPU by products of recurring shapes."""
    lower = x.device.type == "cpu" and torch.is_autocast_enabled("cpu")
    if lower and torch.get_autocast_dtype("cpu") == torch.bfloat16:
        return _Linear.apply(x, weight, bias)  # type: ignore[return-value]
    return functional.linear(x, weight, bias)


def cut(rows: int) -> tuple[int, int]:
    """Rows of the large block, and of the other with its zeros; at most 15 and 4 sizes below 4,096 rows."""
    unit = 256
    while rows >= 16 * unit:
        unit *= 2
    block = rows // unit * unit
    rest, step = rows - block, unit // 4
    return block, -(-rest // step) * step


class _Linear(torch.autograd.Function):
    """bf16 in and out; weights get float32 gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        rows = x.reshape(-1, x.shape[-1]).bfloat16()
        matrix = weight.bfloat16()
        ctx.save_for_backward(rows, matrix)
        ctx.dtypes = x.dtype, weight.dtype, None if bias is None else bias.dtype
        result = _times(rows, matrix.mT, None if bias is None else bias.bfloat16())
        return result.view(*x.shape[:-1], len(matrix))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:  # type: ignore[override]
        rows, matrix = ctx.saved_tensors
        x_type, weight_type, bias_type = ctx.dtypes
        grad = grads[0]
        flat = grad.reshape(-1, grad.shape[-1]).bfloat16()
        to_x = to_weight = to_bias = None
        if ctx.needs_input_grad[0]:
            to_x = _times(flat, matrix).view(*grad.shape[:-1], matrix.shape[1]).to(x_type)
        if ctx.needs_input_grad[1]:
            to_weight = _outer(flat, rows).to(weight_type)
        if ctx.needs_input_grad[2]:
            # Summed in float32 all the same; to ask for a float32 result would first copy all of ``flat``.
            to_bias = flat.sum(0).to(bias_type)
        return to_x, to_weight, to_bias


def _times(
    rows: Float[Tensor, "N D"], matrix: Float[Tensor, "D E"], bias: Float[Tensor, " E"] | None = None
) -> Float[Tensor, "N E"]:
    """``rows · matrix + bias``."""
    block, rest = cut(len(rows))
    result = rows.new_empty(block + rest, matrix.shape[1])
    pieces = []
    if block:
        pieces.append((rows[:block], result[:block]))
    if rest:
        pieces.append((_padded(rows[block:], rest), result[block:]))
    for piece, out in pieces:
        if bias is None:
            torch.mm(piece, matrix, out=out)
        else:
            torch.addmm(bias, piece, matrix, out=out)
    return result[: len(rows)]


def _outer(left: Float[Tensor, "N E"], right: Float[Tensor, "N D"]) -> Float[Tensor, "E D"]:
    """``leftᵀ · right``, its two parts added in float32."""
    block, rest = cut(len(left))
    parts = []
    if block:
        parts.append(left[:block].mT @ right[:block])
    if rest:
        parts.append(_padded(left[block:], rest).mT @ _padded(right[block:], rest))
    return parts[0] if len(parts) == 1 else parts[0].float().add_(parts[1])


def _padded(rows: Float[Tensor, "N D"], size: int) -> Float[Tensor, "P D"]:
    """With rows of zeros below."""
    return rows if len(rows) == size else functional.pad(rows, (0, 0, 0, size - len(rows)))
