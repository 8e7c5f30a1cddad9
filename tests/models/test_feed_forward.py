"""The MLP as one function equals its plain formula, values and gradients, for one run and for stacks."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from lengthwise.models.feed_forward import feed_forward, serves


def plain(
    x: torch.Tensor, up: torch.Tensor, up_bias: torch.Tensor | None, down: torch.Tensor, down_bias: torch.Tensor | None
) -> torch.Tensor:
    """Run by run, by torch's own layers."""
    results = []
    for run, rows in enumerate(x.chunk(len(up))):
        hidden = functional.linear(rows, up[run], None if up_bias is None else up_bias[run])
        bias = None if down_bias is None else down_bias[run]
        results.append(functional.linear(functional.gelu(hidden), down[run], bias))
    return torch.cat(results)


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("frozen", [False, True])
def test_equals_the_plain_formula(runs: int, bias: bool, frozen: bool) -> None:
    generator = torch.Generator().manual_seed(0)

    def leaf(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()

    x, up, down = leaf(6, 4, 5), leaf(runs, 7, 5), leaf(runs, 5, 7)
    biases = (leaf(runs, 7), leaf(runs, 5)) if bias else (None, None)
    if frozen:
        up.requires_grad_(False)
    given = (x, up, biases[0], down, biases[1])
    leaves = [tensor for tensor in given if tensor is not None and tensor.requires_grad]
    factor = torch.randn(x.shape, generator=generator, dtype=torch.float64)
    ours, theirs = feed_forward(*given), plain(*given)
    assert torch.allclose(ours, theirs)
    for one, other in zip(*(torch.autograd.grad((v * factor).sum(), leaves) for v in (ours, theirs)), strict=True):
        assert torch.allclose(one, other)


def test_serves_float_training_on_a_cpu_only() -> None:
    x = torch.zeros(1, 2)
    assert serves(x)
    assert not serves(x.bfloat16())
    with torch.no_grad():
        assert not serves(x)
    with torch.autocast("cpu", torch.bfloat16):
        assert not serves(x)
