"""The optimizer's kernel alone makes the same bits as the optimizer's own step, resumed states included."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from lengthwise.training.config import TrainingConfig
from lengthwise.training.trainer import make_optimizer, update


def some_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Linear(7, 3, bias=False))


@pytest.mark.parametrize("unused", [False, True], ids=["all used", "one without gradient"])
@pytest.mark.parametrize("resumed", [False, True], ids=["fresh", "resumed"])
def test_same_bits(unused: bool, resumed: bool) -> None:
    config = TrainingConfig(weight_decay=0.3, lr=0.01, betas=(0.8, 0.95))
    first = some_model()
    second = copy.deepcopy(first)
    optimizers = make_optimizer(first, config), make_optimizer(second, config)
    generator = torch.Generator().manual_seed(1)
    for step in range(4):
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = 0.01 / (step + 1)
        for index, (one, other) in enumerate(zip(first.parameters(), second.parameters(), strict=True)):
            one.grad = other.grad = None
            if not (unused and index == 2 and step != 1):
                one.grad = torch.randn(one.shape, generator=generator)
                other.grad = one.grad.clone()
        update(optimizers[0])
        optimizers[1].step()
        if resumed and step == 1:
            optimizers[0].load_state_dict(copy.deepcopy(optimizers[0].state_dict()))
        for one, other in zip(first.parameters(), second.parameters(), strict=True):
            assert torch.equal(one, other)
    assert str(optimizers[0].state_dict()) == str(optimizers[1].state_dict())
