"""RMSNorm with a backward pass of its own for CPUs: torch has no kernel there and makes a dozen passes over memory.

y = x / √(mean(x²) + ε) · w (Zhang and Sennrich 2019, Root Mean Square Layer Normalization, section 3).
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional


def rms_norm(
    x: Float[Tensor, "RB *rest D"], weight: Float[Tensor, "R D"] | None = None, eps: float | None = None
) -> Float[Tensor, "RB *rest D"]:
    """RMSNorm over the last axis, scaled by each run's own ``weight``; ``eps`` defaults to the type's epsilon.

    On a CPU gradients cannot be differentiated again.
    """
    if x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64):
        return _RMSNorm.apply(x, weight, torch.finfo(x.dtype).eps if eps is None else eps)  # type: ignore[return-value]
    normed = functional.rms_norm(x, x.shape[-1:], eps=eps)
    if weight is None:
        return normed
    return (normed.reshape(len(weight), -1, x.shape[-1]) * weight[:, None]).view_as(x)


class _RMSNorm(torch.autograd.Function):
    """Keeps x and r = 1/√(mean(x²) + ε). With u = g·w: ∂x = r·(u − x·r²·mean(u·x)), ∂w = Σ r·g·x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
        size = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        factor = size.square_().div_(x.shape[-1]).add_(eps).rsqrt_()
        ctx.save_for_backward(x, factor, weight)
        result = x * factor
        if weight is not None:
            result = result.contiguous()
            result.view(len(weight), -1, x.shape[-1]).mul_(weight[:, None])
        return result

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:  # type: ignore[override]
        x, factor, weight = ctx.saved_tensors
        along = grads[0] * x
        if weight is None:
            return _to_input(grads[0], x, factor, along.sum(-1, keepdim=True), along), None, None
        by_run = along.reshape(len(weight), -1, x.shape[-1])
        to_weight = None
        # Sums as products of matrices; autocast must not make bf16 of them.
        with torch.autocast("cpu", enabled=False):
            if ctx.needs_input_grad[1]:
                to_weight = (factor.reshape(len(weight), 1, -1) @ by_run)[:, 0]
            if not ctx.needs_input_grad[0]:
                return None, to_weight, None
            dot = (by_run @ weight[:, :, None]).view(factor.shape)
        scaled = torch.mul(grads[0].reshape(by_run.shape), weight[:, None], out=by_run).view(x.shape)
        return _to_input(scaled, x, factor, dot, scaled), to_weight, None


def _to_input(
    grad: Float[Tensor, "*rows D"],
    x: Float[Tensor, "*rows D"],
    factor: Float[Tensor, "*rows 1"],
    dot: Float[Tensor, "*rows 1"],
    out: Float[Tensor, "*rows D"],
) -> Float[Tensor, "*rows D"]:
    """r·(grad − x·r²·dot/D), written to ``out``, which is still in cache."""
    share = factor.square().mul_(dot).mul_(-1 / x.shape[-1])
    return torch.addcmul(grad, x, share, out=out).mul_(factor)
