"""The causal mask: by its definition, and fit for training wherever it was first made."""

from __future__ import annotations

import math

import pytest
import torch

from lengthwise.models.softmax import causal_mask, mix

CPU = torch.device("cpu")


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (3, 3), (2, 5), (1, 256), (3, 257)])
@pytest.mark.parametrize("biased", [False, True])
def test_hides_the_keys_behind_each_query(queries: int, keys: int, biased: bool) -> None:
    bias = torch.randn(queries, keys, generator=torch.Generator().manual_seed(0)) if biased else None
    mask = causal_mask(queries, keys, CPU, torch.float32, bias)
    for query in range(queries):
        for key in range(keys):
            shown = 0.0 if bias is None else float(bias[query, key])
            assert float(mask[query, key]) == (shown if key <= keys - queries + query else -math.inf)


def test_a_mask_that_a_test_made_serves_training() -> None:
    with torch.inference_mode():
        made = causal_mask(7, 7, CPU, torch.float64)
    assert causal_mask(7, 7, CPU, torch.float64) is made
    q, k, v = (torch.ones(1, 1, 7, 2, dtype=torch.float64, requires_grad=True) for _ in range(3))
    mix(q, k, v, made, False, 0.0).sum().backward()
    assert v.grad is not None
    assert torch.isfinite(v.grad).all()
