"""RMSNorm on a CPU in few passes over memory; torch has no kernel of its own there and makes a dozen passes.

RMSNorm: y = x / √(mean(x²) + ε) · w (Zhang and Sennrich 2019, Root Mean Square Layer Normalization, section 3).
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional


def rms_norm(
    x: Float[Tensor, "RB *rest D"], weight: Float[Tensor, "R D"] | None = None, eps: float | None = None
) -> Float[Tensor, "RB *rest D"]:
    """RMSNorm over the last axis, scaled by each run's own ``weight``; ``eps`` defaults to the type's epsilon.

    Gradients cannot be differentiated again on a CPU.
    """
    if x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64):
        eps = torch.finfo(x.dtype).eps if eps is None else eps
        return _RMSNorm.apply(x, weight, eps)  # type: ignore[return-value]
    if weight is None or len(weight) == 1:
        return functional.rms_norm(x, x.shape[-1:], None if weight is None else weight[0], eps)
    normed = functional.rms_norm(x, x.shape[-1:], eps=eps)
    return (normed.reshape(len(weight), -1, x.shape[-1]) * weight[:, None]).view_as(x)


class RMSNorm(nn.RMSNorm):
    """`torch.nn.RMSNorm` over the last axis by `rms_norm`."""

    def forward(self, x: Float[Tensor, "*rest D"]) -> Float[Tensor, "*rest D"]:
        """Normalize and scale."""
        return rms_norm(x, self.weight[None], self.eps)


class _RMSNorm(torch.autograd.Function):
    """Keeps x and 1/√(mean(x²) + ε) only.

    With r for the latter and u = g·w: ∂x = r·(u − x·r²·mean(u·x)), ∂w = Σ r·g·x.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        factor = norm.square_().div_(x.shape[-1]).add_(eps).rsqrt_()
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
        width = x.shape[-1]
        along = grads[0] * x
        to_weight = None
        if weight is None:
            dot, scaled = along.sum(-1, keepdim=True), grads[0]
        else:
            by_run = along.reshape(len(weight), -1, width)
            # Sums as products of matrices; autocast must not make bf16 of them.
            with torch.autocast("cpu", enabled=False):
                if ctx.needs_input_grad[1]:
                    to_weight = (factor.reshape(len(weight), 1, -1) @ by_run)[:, 0]
                dot = (by_run @ weight[:, :, None]).view(factor.shape)
            scaled = (grads[0].reshape(by_run.shape) * weight[:, None]).view(x.shape)
        if not ctx.needs_input_grad[0]:
            return None, to_weight, None
        share = factor.square().mul_(dot).mul_(-1 / width)
        to_x = torch.addcmul(scaled, x, share) if weight is None else scaled.addcmul_(x, share)
        return to_x.mul_(factor), to_weight, None
