"""RMSNorm equals torch's composite, values and gradients, for one run and for stacks, contiguous or not."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from lengthwise.models.kernels import rms_norm


def composite(x: torch.Tensor, weight: torch.Tensor | None, eps: float | None) -> torch.Tensor:
    """torch's own RMSNorm, run by run."""
    normed = functional.rms_norm(x, x.shape[-1:], eps=eps)
    if weight is None:
        return normed
    rows = len(x) // len(weight)
    return torch.cat([normed[run * rows : (run + 1) * rows] * weight[run] for run in range(len(weight))])


@pytest.mark.parametrize("runs", [None, 1, 3])
@pytest.mark.parametrize("eps", [None, 0.1])
def test_gradients_are_those_of_finite_differences(runs: int | None, eps: float | None) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(6, 2, 5, dtype=torch.float64, generator=generator, requires_grad=True)
    leaves = [x]
    if runs is not None:
        leaves.append(torch.randn(runs, 5, dtype=torch.float64, generator=generator, requires_grad=True))
    assert torch.autograd.gradcheck(lambda x, weight=None: rms_norm(x, weight, eps), leaves)


@pytest.mark.parametrize("runs", [None, 1, 3])
@pytest.mark.parametrize("permuted", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("autocast", [False, True])
def test_equals_the_composite(runs: int | None, permuted: bool, dtype: torch.dtype, autocast: bool) -> None:
    generator = torch.Generator().manual_seed(1)
    leaf = torch.randn(6, 7, 4, 16, generator=generator).to(dtype).requires_grad_()
    x = leaf.permute(0, 2, 1, 3) if permuted else leaf
    weight = None if runs is None else torch.randn(runs, 16, generator=generator).to(dtype).requires_grad_()
    wanted = [leaf] if weight is None else [leaf, weight]
    factor = torch.randn(x.shape, generator=generator)
    results = []
    for function in (rms_norm, composite):
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            value = function(x, weight, None)
            results.append((value, *torch.autograd.grad((value * factor).sum(), wanted)))
    tolerance = {torch.float32: 1e-5, torch.float64: 1e-6, torch.bfloat16: 0.05}[dtype]
    for one, other in zip(*results, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert torch.allclose(one, other, atol=tolerance, rtol=tolerance)


def test_only_what_needs_a_gradient_gets_one() -> None:
    generator = torch.Generator().manual_seed(3)
    x, weight = torch.randn(2, 3, 8, generator=generator), torch.ones(1, 8)
    rms_norm(x, weight.requires_grad_()).sum().backward()
    assert weight.grad is not None
    assert x.grad is None
    free = weight.detach()
    rms_norm(x.requires_grad_(), free).sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("shape", [(6, 3, 1, 1), (1, 3, 1, 1), (6, 3, 4, 1)])
def test_a_gain_scales_each_vector(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(6, 3, 4, 8, generator=generator).to(dtype).requires_grad_()
    gain = torch.randn(shape, generator=generator).to(dtype).requires_grad_()
    factor = torch.randn(x.shape, generator=generator)
    tolerance = {torch.float32: 1e-5, torch.float64: 1e-6, torch.bfloat16: 0.05}[dtype]
    results = []
    for value in (rms_norm(x, gain=gain), composite(x, None, None) * gain):
        results.append((value, *torch.autograd.grad((value * factor).sum(), [x, gain])))
    for one, other in zip(*results, strict=True):
        assert one.dtype == other.dtype
        assert torch.allclose(one, other, atol=tolerance, rtol=tolerance)
    if dtype == torch.float64:
        assert torch.autograd.gradcheck(lambda x, gain: rms_norm(x, gain=gain), (x, gain))
