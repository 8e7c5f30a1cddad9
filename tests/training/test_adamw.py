"""Clipping and updates give the bits of torch's own."""

from __future__ import annotations

import pytest
import torch

from lengthwise.training.adamw import StackedAdamW
from lengthwise.training.config import TrainingConfig


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
    stacked = [torch.nn.Parameter(parameter[None]) for parameter in sides[0]]
    for parameter, own in zip(stacked, sides[0], strict=True):
        parameter.grad = None if own.grad is None else own.grad[None]  # the same memory
    StackedAdamW(stacked, TrainingConfig()).clip(1.0)
    torch.nn.utils.clip_grad_norm_(sides[1], 1.0)
    for one, other in zip(*sides, strict=True):
        if one.grad is None or other.grad is None:
            assert one.grad is other.grad
        else:
            assert torch.equal(one.grad.nan_to_num(-1), other.grad.nan_to_num(-1))


def test_updates_are_those_of_torch_for_every_run() -> None:
    """Three runs, decay on matrices only, and a parameter that a step does not use."""
    config, rate = TrainingConfig(weight_decay=0.1), 1e-2
    generator = torch.Generator().manual_seed(0)
    stacked = [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in ((3, 5, 7), (3, 4))]
    optimizer = StackedAdamW(stacked, config)
    alone = [[torch.nn.Parameter(p.detach()[run].clone()) for p in stacked] for run in range(3)]
    theirs = [
        torch.optim.AdamW(
            [{"params": matrix, "weight_decay": 0.1}, {"params": vector, "weight_decay": 0.0}],
            lr=rate, betas=config.betas, fused=True,
        )
        for matrix, vector in alone
    ]  # fmt: skip
    for step in range(4):
        for place, parameter in enumerate(stacked):
            used = place == 0 or step != 1
            parameter.grad = torch.randn(parameter.shape, generator=generator) if used else None
            for run in range(3):
                alone[run][place].grad = None if parameter.grad is None else parameter.grad[run].clone()
        optimizer.step(rate)
        for other in theirs:
            other.step()
    for run in range(3):
        for parameter, own in zip(stacked, alone[run], strict=True):
            assert torch.equal(parameter[run], own)
