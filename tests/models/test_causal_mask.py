"""The masks, by their definitions."""

from __future__ import annotations

import math

import pytest
import torch

from lengthwise.models.transformer import causal_mask, mask_keys


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (3, 3), (2, 5), (1, 256), (3, 257)])
def test_keys_behind_each_query_are_masked(queries: int, keys: int) -> None:
    mask = causal_mask(queries, keys, torch.device("cpu"))
    for query in range(queries):
        for key in range(keys):
            assert float(mask[query, key]) == (0.0 if key <= keys - queries + query else -math.inf)


@pytest.mark.parametrize("biased", [False, True])
def test_hidden_keys_are_masked_for_all_but_themselves(biased: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    visible = torch.rand(2, 5, generator=generator) < 0.5
    bias = torch.randn(2, 3, 5, 5, generator=generator) if biased else None
    mask = mask_keys(visible, bias).expand(2, 3, 5, 5)
    for row in range(2):
        for query in range(5):
            for key in range(5):
                seen = bool(visible[row, key]) or key == query
                expected = (0.0 if bias is None else float(bias[row, 1, query, key])) if seen else -math.inf
                assert float(mask[row, 1, query, key]) == expected
