"""Clipping gives the bits of torch's own, whether or not it has to scale."""

from __future__ import annotations

import pytest
import torch

from lengthwise.training.trainer import clip


@pytest.mark.parametrize("size", [1e-3, 0.1, 0.9999995, 1.0, 1.0000005, 30.0, float("nan")])
def test_equals_torch(size: float) -> None:
    generator = torch.Generator().manual_seed(0)
    grads = [torch.randn(shape, generator=generator) for shape in ((5, 7), (3,))]
    norm = torch.cat([grad.flatten() for grad in grads]).norm()
    sides: list[list[torch.nn.Parameter]] = []
    for _ in range(2):
        parameters = [torch.nn.Parameter(torch.zeros_like(grad)) for grad in (*grads, grads[0])]
        for parameter, grad in zip(parameters, grads, strict=False):
            parameter.grad = grad * size / norm
        sides.append(parameters)
    clip(sides[0], 1.0)
    torch.nn.utils.clip_grad_norm_(sides[1], 1.0)
    for one, other in zip(*sides, strict=True):
        if one.grad is None or other.grad is None:
            assert one.grad is other.grad
        else:
            assert torch.equal(one.grad.nan_to_num(-1), other.grad.nan_to_num(-1))
