"""Attention from the joint projection equals norms and plain attention of its parts, with all gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.models.projected_attention import attend_projected, serves_projected
from lengthwise.models.segment_attention import LARGE, Piece
from lengthwise.models.softmax import causal_mask
from oracle import plain_segments

ROWS, TOKENS = (3, 1, 2), (5, 1, 8)
SIZE = sum(rows * tokens for rows, tokens in zip(ROWS, TOKENS, strict=True))
CPU = torch.device("cpu")


def plain(x: Tensor, gain: Tensor | None, biases: list[Tensor | None]) -> Tensor:
    """One run, segment and sequence at a time."""
    runs = []
    for run, own in enumerate(x):
        q, k, v = (own[:, part].transpose(0, 1)[None] for part in range(3))
        if gain is not None:
            factor = gain if gain.ndim == 3 else gain[run]
            q, k = functional.rms_norm(q, q.shape[-1:]) * factor, functional.rms_norm(k, k.shape[-1:])
        runs.append((q, k, v))
    return plain_segments(*(torch.cat(parts) for parts in zip(*runs, strict=True)), ROWS, TOKENS, biases)


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("normed", ["no", "shared", "own"])
def test_equals_plain_attention(runs: int, heads: int, biased: bool, normed: str) -> None:
    generator = torch.Generator().manual_seed(runs + heads)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    x = drawn(runs, SIZE, 3, heads, 4).requires_grad_()
    gain = None
    if normed != "no":
        # The first head's gain is 0: gradients must not divide by it.
        gain = drawn(*([] if normed == "shared" else [runs]), heads, 1, 1)
        gain[..., 0, :, :] = 0
        gain.requires_grad_()
    biases: list[Tensor | None] = [None] * 3
    if biased:
        sizes = zip(ROWS, TOKENS, strict=True)
        biases = [drawn(runs * rows, heads, tokens, tokens) for rows, tokens in sizes]
    pieces = [
        Piece(rows, tokens, tokens, causal_mask(tokens, tokens, CPU, torch.float64, bias))
        for rows, tokens, bias in zip(ROWS, TOKENS, biases, strict=True)
    ]
    found, wanted = attend_projected(x, gain, pieces), plain(x, gain, biases)
    assert torch.allclose(found, wanted)
    leaves = [x] if gain is None else [x, gain]
    factor = drawn(*wanted.shape)
    for one, other in zip(
        torch.autograd.grad((found * factor).sum(), leaves),
        torch.autograd.grad((wanted * factor).sum(), leaves),
        strict=True,
    ):
        assert torch.allclose(one, other)


def test_bf16_is_near() -> None:
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(1, SIZE, 3, 2, 4, generator=generator)
    gain = torch.tensor([0.5, 2.0])[:, None, None]
    pieces = [
        Piece(rows, tokens, tokens, causal_mask(tokens, tokens, CPU, torch.float32))
        for rows, tokens in zip(ROWS, TOKENS, strict=True)
    ]
    found = attend_projected(x.bfloat16().requires_grad_(), gain, pieces)
    assert found.dtype == torch.bfloat16
    assert torch.allclose(found.float(), plain(x, gain, [None] * 3), atol=0.05)


def test_serves_large_batches_in_training() -> None:
    x = torch.zeros(1, LARGE // 8, 3, 2, 4, requires_grad=True)
    piece = [Piece(LARGE // 64, 8, 8, torch.zeros(8, 8))]
    assert serves_projected(x, piece)
    assert not serves_projected(x.detach(), piece)
    assert not serves_projected(x[:, 8:], [Piece(LARGE // 64 - 1, 8, 8, torch.zeros(8, 8))])
