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
    x: Float[Tensor, "RB *rest D"],
    weight: Float[Tensor, "R D"] | None = None,
    eps: float | None = None,
    *,
    gain: Float[Tensor, "... 1"] | None = None,
) -> Float[Tensor, "RB *rest D"]:
    """RMSNorm over the last axis, scaled by each run's own ``weight``; ``eps`` defaults to the type's epsilon.

    A ``gain``, instead of a weight, is one number per vector, or one that several share. On a CPU gradients cannot be
    differentiated again.
    """
    if x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64):
        eps = torch.finfo(x.dtype).eps if eps is None else eps
        if weight is None:
            return _GainedRMSNorm.apply(x, gain, eps)  # type: ignore[return-value]
        return _RMSNorm.apply(x, weight, eps)  # type: ignore[return-value]
    normed = functional.rms_norm(x, x.shape[-1:], eps=eps)
    if weight is not None:
        normed = (normed.reshape(len(weight), -1, x.shape[-1]) * weight[:, None]).view_as(x)
    return normed if gain is None else normed * gain


class _RMSNorm(torch.autograd.Function):
    """Keeps x and r = 1/√(mean(x²) + ε). With u = g·w: ∂x = r·(u − x·r²·mean(u·x)), ∂w = Σ r·g·x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        factor = _factor(x, eps)
        ctx.save_for_backward(x, factor, weight)
        result = (x * factor).contiguous()
        result.view(len(weight), -1, x.shape[-1]).mul_(weight[:, None])
        return result

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:  # type: ignore[override]
        x, factor, weight = ctx.saved_tensors
        by_run = (grads[0] * x).reshape(len(weight), -1, x.shape[-1])
        to_weight = None
        # Sums as products of matrices; autocast must not make bf16 of them.
        with torch.autocast("cpu", enabled=False):
            if ctx.needs_input_grad[1]:
                to_weight = (factor.reshape(len(weight), 1, -1) @ by_run)[:, 0]
            if not ctx.needs_input_grad[0]:
                return None, to_weight, None
            dot = (by_run @ weight[:, :, None]).view(factor.shape)
        scaled = torch.mul(grads[0].reshape(by_run.shape), weight[:, None], out=by_run).view(x.shape)
        return _to_input(scaled, x, factor, factor, dot, scaled), to_weight, None


class _GainedRMSNorm(torch.autograd.Function):
    """The same with a gain c per vector, or 1, instead of w: ∂c = Σ r·g·x, and ∂x has g for u and c·r for its first r.

    So the gain costs no pass over x of its own.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, gain: Tensor | None, eps: float) -> Tensor:
        factor = _factor(x, eps)
        ctx.save_for_backward(x, factor, gain)
        return x * (factor if gain is None else factor * gain)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor | None, None]:  # type: ignore[override]
        x, factor, gain = ctx.saved_tensors
        along = grads[0] * x
        dot = along.sum(-1, keepdim=True)
        to_gain = (dot * factor).sum_to_size(gain.shape) if ctx.needs_input_grad[1] else None
        scale = factor if gain is None else factor * gain
        return _to_input(grads[0], x, factor, scale, dot, along), to_gain, None


def _factor(x: Float[Tensor, "*rows D"], eps: float) -> Float[Tensor, "*rows 1"]:
    """r."""
    size = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return size.square_().div_(x.shape[-1]).add_(eps).rsqrt_()


def _to_input(
    grad: Float[Tensor, "*rows D"], x: Float[Tensor, "*rows D"], factor: Float[Tensor, "*rows 1"],
    scale: Float[Tensor, "*rows 1"], dot: Float[Tensor, "*rows 1"], out: Float[Tensor, "*rows D"],
) -> Float[Tensor, "*rows D"]:  # fmt: skip
    """scale·(grad − x·r²·dot/D), written to ``out``, which is still in cache."""
    share = factor.square().mul_(dot).mul_(-1 / x.shape[-1])
    return torch.addcmul(grad, x, share, out=out).mul_(scale)
