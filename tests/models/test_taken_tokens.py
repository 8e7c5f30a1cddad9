"""Taking tokens beside another use of them, and gathering rows, have the gradients of the plain operations."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lengthwise.models.layers import with_taken
from lengthwise.nn.parameters import Table


@pytest.mark.parametrize("at", [slice(1, 4), slice(-2, None), torch.tensor([4, 0, 2])])
def test_tokens_taken_beside_another_use(at: Tensor | slice) -> None:
    x = torch.randn(3, 5, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    whole, taken = with_taken(x, at)
    assert torch.equal(whole, x)
    assert torch.equal(taken, x[:, at])
    (found,) = torch.autograd.grad((whole.sin().sum() + (taken**3).sum()), x)
    (wanted,) = torch.autograd.grad((x.sin().sum() + (x[:, at] ** 3).sum()), x)
    assert torch.allclose(found, wanted)


@pytest.mark.parametrize("shape", [(4,), (2, 3), (0,)])
def test_table_gathers_as_an_embedding(shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(0)
    table = Table(5, 3)
    rows = torch.randint(0, 5, shape, generator=generator)
    found, wanted = table(rows), torch.nn.functional.embedding(rows, table.weight)
    assert torch.equal(found, wanted)
    factor = torch.randn(wanted.shape, generator=generator)
    (one,) = torch.autograd.grad((found * factor).sum(), table.weight)
    (other,) = torch.autograd.grad((wanted * factor).sum(), table.weight)
    assert torch.allclose(one, other)


def test_table_refuses_rows_that_it_lacks() -> None:
    with pytest.raises(IndexError):
        Table(5, 3)(torch.tensor([5]))
