"""Tables that gather rows on a CPU have the values and gradients of an embedding."""

from __future__ import annotations

import pytest
import torch

from lengthwise.nn.base import EmbeddingTable


@pytest.mark.parametrize("shape", [(4,), (2, 3), (0,)])
def test_table_gathers_as_an_embedding(shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(0)
    table = EmbeddingTable(5, 3)
    rows = torch.randint(0, 5, shape, generator=generator)
    found, wanted = table(rows), torch.nn.functional.embedding(rows, table.weight)
    assert torch.equal(found, wanted)
    factor = torch.randn(wanted.shape, generator=generator)
    (one,) = torch.autograd.grad((found * factor).sum(), table.weight)
    (other,) = torch.autograd.grad((wanted * factor).sum(), table.weight)
    assert torch.allclose(one, other)


def test_table_refuses_rows_that_it_lacks() -> None:
    with pytest.raises(IndexError):
        EmbeddingTable(5, 3)(torch.tensor([5]))
