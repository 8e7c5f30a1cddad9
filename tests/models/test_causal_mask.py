"""The masks, by their definitions."""

from __future__ import annotations

import math

import pytest
import torch

from lengthwise.models.attention_state import causal_mask, keys_seen, mask_keys, visible_keys_seen
from lengthwise.nn import NoPE


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
    mask = mask_keys(visible, bias, 5).expand(2, 3, 5, 5)
    assert torch.equal(
        mask_keys(visible, None if bias is None else bias[:, :, 3:], 2).expand(2, 3, 2, 5), mask[:, :, 3:]
    )
    for row in range(2):
        for query in range(5):
            for key in range(5):
                seen = bool(visible[row, key]) or key == query
                expected = (0.0 if bias is None else float(bias[row, 1, query, key])) if seen else -math.inf
                assert float(mask[row, 1, query, key]) == expected


@pytest.mark.parametrize("window", [1, 3, 9])
@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (5, 5), (1, 7), (3, 7)])
def test_a_window_shows_as_many_keys_as_it_says(queries: int, keys: int, window: int) -> None:
    mask = causal_mask(queries, keys, torch.device("cpu"), window)
    for query in range(queries):
        at = keys - queries + query
        for key in range(keys):
            assert float(mask[query, key]) == (0.0 if at - window < key <= at else -math.inf)
    seen = (mask == 0).sum(1)
    encoding = NoPE()
    encoding.window = window
    assert torch.equal(keys_seen(encoding, queries, keys, None, torch.device("cpu")), seen)


@pytest.mark.parametrize("window", [None, 1, 3, 9])
def test_visible_keys_are_counted_within_the_window(window: int | None) -> None:
    visible = torch.rand(4, 7, generator=torch.Generator().manual_seed(3)) < 0.5
    mask = mask_keys(visible, None, 7) + causal_mask(7, 7, torch.device("cpu"), window)
    assert torch.equal(visible_keys_seen(visible, window), (mask[:, 0] == 0).sum(-1))
