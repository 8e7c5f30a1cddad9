"""Linear layers for bf16 training on a CPU whose number of tokens differs from step to step.

There, torch compiles a product anew for every shape that it has not met lately, which takes longer than the product
itself. Rows are multiplied in recurring numbers only: below them lie some rows of zeros, written as the rows are cast.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional


def is_cpu_bf16(x: Tensor) -> bool:
    """Whether autocast now makes products of ``x`` in bf16 on a CPU."""
    on = x.device.type == "cpu" and torch.is_autocast_enabled("cpu")
    return on and torch.get_autocast_dtype("cpu") == torch.bfloat16


def linear(
    x: Float[Tensor, "*rest D"], weight: Float[Tensor, "E D"], bias: Float[Tensor, " E"] | None
) -> Float[Tensor, "*rest E"]:
    """``x · weightᵀ + bias``; under bf16 autocast on a CPU by products of recurring shapes."""
    if is_cpu_bf16(x):
        return _Linear.apply(x, weight, bias)  # type: ignore[return-value]
    return functional.linear(x, weight, bias)


def padded(rows: int) -> int:
    """The number of rows to multiply instead of ``rows``; 48 different ones up to 4,096, then 16 until it doubles."""
    step = 64
    while rows > 32 * step:
        step *= 2
    return -(-rows // step) * step


class _Linear(torch.autograd.Function):
    """bf16 in and out; weights get float32 gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        rows, matrix = _rows(x), weight.bfloat16()
        ctx.save_for_backward(rows, matrix)
        ctx.dtypes = x.dtype, weight.dtype, None if bias is None else bias.dtype
        return _shaped(_times(rows, matrix, bias), x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:  # type: ignore[override]
        rows, matrix = ctx.saved_tensors
        x_type, weight_type, bias_type = ctx.dtypes
        grad = grads[0]
        flat = _rows(grad)
        to_x = _shaped(flat @ matrix, grad).to(x_type) if ctx.needs_input_grad[0] else None
        to_weight = (flat.mT @ rows).to(weight_type) if ctx.needs_input_grad[1] else None
        # Summed in float32 all the same; to ask for a float32 result would first copy all of ``flat``.
        to_bias = flat.sum(0).to(bias_type) if ctx.needs_input_grad[2] else None
        return to_x, to_weight, to_bias


def _rows(x: Float[Tensor, "*rest D"]) -> Float[Tensor, "P D"]:
    """In bf16, as one matrix with rows of zeros below."""
    flat = x.reshape(-1, x.shape[-1])
    size = padded(len(flat))
    if size == len(flat):
        return flat.bfloat16()
    result = flat.new_empty(size, flat.shape[1], dtype=torch.bfloat16)
    result[: len(flat)] = flat
    result[len(flat) :] = 0
    return result


def _times(
    rows: Float[Tensor, "P D"], matrix: Float[Tensor, "E D"], bias: Float[Tensor, " E"] | None
) -> Float[Tensor, "P E"]:
    """``rows · matrixᵀ + bias``."""
    return rows @ matrix.mT if bias is None else torch.addmm(bias.bfloat16(), rows, matrix.mT)


def _shaped(rows: Float[Tensor, "P E"], like: Float[Tensor, "*rest D"]) -> Float[Tensor, "*rest E"]:
    """Without the rows below, as ``like`` is shaped."""
    return rows[: like.shape[:-1].numel()].view(*like.shape[:-1], rows.shape[1])
