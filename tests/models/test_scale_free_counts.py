"""Why Peri-LN counts at any length: a norm after uniform attention removes the division by the number of tokens."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lengthwise.models.config import ModelConfig
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import EncodingShape, NoPESpec

WIDTH = 8
BOS, A, B = range(3)


@torch.no_grad()
def counter(norm: str) -> Transformer:
    """Attends uniformly; a adds +1, b −1 and ``<bos>`` 1 on an axis of its own."""
    torch.manual_seed(0)
    config = ModelConfig(layers=1, heads=1, width=WIDTH, norm=norm, qk_norm=False)  # type: ignore[arg-type]
    model = Transformer(
        config, NoPESpec(), 3, EncodingShape(WIDTH, 1, WIDTH, ("position",), 500), predicts_ids=False
    ).double()
    model.table.weight.copy_(torch.eye(WIDTH)[:3])
    block = model.blocks[0]
    block.attention.qkv.weight.zero_()
    values = block.attention.qkv.weight[2 * WIDTH :]
    values[3, BOS] = values[4, A] = 1
    values[4, B] = -1
    block.attention.out.weight.copy_(torch.eye(WIDTH))
    return model


@torch.no_grad()
def logits(model: Transformer, word: str) -> Tensor:
    tokens = torch.tensor([[BOS, *(A if symbol == "a" else B for symbol in word)]])
    return model(tokens, torch.arange(tokens.shape[1])[None, :, None]).logits[0, -1]


@pytest.mark.parametrize("depth", [-2, 0, 1, 5])
def test_what_it_says_depends_on_the_count_alone(depth: int) -> None:
    model = counter("peri")
    words = ["a" * n + "b" * (n - depth) for n in range(max(depth, 0) + 1, 60, 13)]
    said = torch.stack([logits(model, word) for word in words])
    assert torch.allclose(said, said[0].expand_as(said), atol=1e-9)
    assert not torch.allclose(said[0], logits(model, words[0][1:]), atol=1e-3)


def test_without_the_second_norm_it_fades_with_the_length() -> None:
    model = counter("rms")
    apart = [float((logits(model, "ab" * n) - logits(model, "ab" * n + "b")).norm()) for n in (2, 20, 200)]
    assert apart[0] > 5 * apart[1] > 25 * apart[2] > 0
