"""bf16 products in recurring shapes equal the plain ones; the number of shapes is small."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from lengthwise.models.kernels.fixed_shapes import linear, padded


def test_rows_are_padded_to_few_numbers() -> None:
    numbers = {rows: padded(rows) for rows in range(1, 4097)}
    assert all(rows <= size < rows + 64 for rows, size in numbers.items() if rows <= 2048)
    assert len(set(numbers.values())) == 48
    assert all(rows <= padded(rows) <= 1.0625 * rows for rows in range(1024, 100_000, 77))


@pytest.mark.parametrize("rows", [1, 64, 300, 512])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_autocast_results_and_gradients(rows: int, bias: bool, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(rows)
    x = torch.randn(1, rows, 24, generator=generator).to(dtype).requires_grad_()
    weight = torch.randn(40, 24, generator=generator).requires_grad_()
    shift = torch.randn(40, generator=generator).requires_grad_() if bias else None
    wanted = [leaf for leaf in (x, weight, shift) if leaf is not None]
    factor = torch.randn(1, rows, 40, generator=generator)
    with torch.autocast("cpu", torch.bfloat16):
        fast = linear(x, weight, shift)
    exact = functional.linear(x.float(), weight, shift)
    assert fast.dtype == torch.bfloat16
    assert torch.allclose(fast.float(), exact, atol=0.15, rtol=0.02)
    found = torch.autograd.grad((fast.float() * factor).sum(), wanted)
    expected = torch.autograd.grad((exact * factor).sum(), wanted)
    for leaf, one, other in zip(wanted, found, expected, strict=True):
        assert one.dtype == leaf.dtype
        assert one.shape == leaf.shape
        assert (one.float() - other).norm() < 0.01 * other.norm()


def test_float32_is_left_alone() -> None:
    generator = torch.Generator().manual_seed(0)
    x, weight, bias = (torch.randn(size, generator=generator) for size in ((2, 100, 8), (5, 8), (5,)))
    assert torch.equal(linear(x, weight, bias), functional.linear(x, weight, bias))


def test_only_what_needs_a_gradient_gets_one() -> None:
    x, weight = torch.randn(3, 8), torch.randn(5, 8, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        linear(x, weight, None).sum().backward()
    assert x.grad is None
    assert weight.grad is not None
