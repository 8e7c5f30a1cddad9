"""The MLP of a block for training on a CPU as one function: GELU's gradient is written over the gradient it is made of.

That tensor is the largest of a step; a second one of its size would come from memory far from the processor.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from lengthwise.models.layers import product


def serves(x: Tensor) -> bool:
    """Whether `feed_forward` can take ``x``: float32 or float64 training on a CPU."""
    return (
        x.device.type == "cpu"
        and torch.is_grad_enabled()
        and x.dtype in (torch.float32, torch.float64)
        and not torch.is_autocast_enabled("cpu")
    )


def feed_forward(
    x: Float[Tensor, "RB *rest D"],
    up: Float[Tensor, "R E D"],
    up_bias: Float[Tensor, "R E"] | None,
    down: Float[Tensor, "R D E"],
    down_bias: Float[Tensor, "R D"] | None,
) -> Float[Tensor, "RB *rest D"]:
    """``gelu(x · upᵀ + up_bias) · downᵀ + down_bias`` of each run's rows; gradients cannot be differentiated again."""
    return _FeedForward.apply(x, up, up_bias, down, down_bias)  # type: ignore[return-value]


class _FeedForward(torch.autograd.Function):
    """Keeps the rows, what GELU was given and what it made of it."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, up: Tensor, up_bias: Tensor | None, down: Tensor, down_bias: Tensor | None
    ) -> Tensor:
        rows = x.reshape(len(up), -1, x.shape[-1])
        hidden = product(rows, up, up_bias)
        active = functional.gelu(hidden)
        ctx.save_for_backward(rows, hidden, active, up, down)
        return product(active, down, down_bias).view(x.shape)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        rows, hidden, active, up, down = ctx.saved_tensors
        wanted = ctx.needs_input_grad
        grad = grads[0].reshape(rows.shape)
        to_down = torch.bmm(grad.mT, active) if wanted[3] else None
        to_down_bias = grad.sum(1) if wanted[4] else None
        inner = torch.bmm(grad, down)
        torch.ops.aten.gelu_backward.grad_input(inner, hidden, grad_input=inner)
        to_up = _outer(inner, rows) if wanted[1] else None
        to_up_bias = inner.sum(1) if wanted[2] else None
        to_x = torch.bmm(inner, up).view(grads[0].shape) if wanted[0] else None
        return to_x, to_up, to_up_bias, to_down, to_down_bias


def _outer(inner: Float[Tensor, "R N E"], rows: Float[Tensor, "R N D"]) -> Float[Tensor, "R E D"]:
    """``innerᵀ · rows`` of each run, with E above D; of many runs, its transpose takes two thirds of the time."""
    return torch.bmm(rows.mT, inner).mT if len(rows) > 1 else torch.bmm(inner.mT, rows)
