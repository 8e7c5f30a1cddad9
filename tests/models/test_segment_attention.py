"""Attention of all segments as one function equals plain attention of each, with its gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lengthwise.models.segment_attention import LARGE, SHORT, Piece, attend, serves
from lengthwise.models.softmax import causal_mask
from oracle import plain_segments

ROWS, TOKENS = (3, 1, 2), (5, 1, 8)
SIZE = sum(rows * tokens for rows, tokens in zip(ROWS, TOKENS, strict=True))


def drawn(runs: int, heads: int, dtype: torch.dtype, *, seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = ((runs, heads, SIZE, 4), (runs, heads, SIZE, 4), (runs, heads, SIZE, 4))
    return [torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes]


def plain(q: Tensor, k: Tensor, v: Tensor, biases: list[Tensor | None]) -> Tensor:
    """One run, segment and sequence at a time."""
    return plain_segments(q, k, v, ROWS, TOKENS, biases)


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("biased", [False, True])
def test_equals_plain_attention(runs: int, heads: int, biased: bool) -> None:
    leaves = q, k, v = [leaf.requires_grad_() for leaf in drawn(runs, heads, torch.float64)]
    generator = torch.Generator().manual_seed(1)
    biases: list[Tensor | None] = [None] * 3
    if biased:
        biases = [
            torch.randn(runs * rows, heads, tokens, tokens, generator=generator, dtype=torch.float64)
            for rows, tokens in zip(ROWS, TOKENS, strict=True)
        ]
    pieces = [
        Piece(rows, tokens, tokens, causal_mask(tokens, tokens, torch.device("cpu"), torch.float64, bias))
        for rows, tokens, bias in zip(ROWS, TOKENS, biases, strict=True)
    ]
    found, wanted = attend(q, k, v, pieces), plain(q, k, v, biases)
    assert torch.allclose(found, wanted)
    factor = torch.randn(wanted.shape, generator=generator, dtype=torch.float64)
    for one, other in zip(
        torch.autograd.grad((found * factor).sum(), leaves),
        torch.autograd.grad((wanted * factor).sum(), leaves),
        strict=True,
    ):
        assert torch.allclose(one, other)


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("heads", [1, 2])
def test_vectors_that_are_keys_and_values(runs: int, heads: int) -> None:
    q, x, _ = [leaf.requires_grad_() for leaf in drawn(runs, heads, torch.float64, seed=4)]
    pieces = [
        Piece(rows, tokens, tokens, causal_mask(tokens, tokens, torch.device("cpu"), torch.float64))
        for rows, tokens in zip(ROWS, TOKENS, strict=True)
    ]
    found, wanted = attend(q, x, x, pieces), plain(q, x, x, [None] * 3)
    assert torch.allclose(found, wanted)
    for one, other in zip(
        torch.autograd.grad((found**2).sum(), (q, x)), torch.autograd.grad((wanted**2).sum(), (q, x)), strict=True
    ):
        assert torch.allclose(one, other)


def test_some_queries_only() -> None:
    q, k, v = drawn(2, 2, torch.float64, seed=2)
    bias = [causal_mask(tokens, tokens, torch.device("cpu"), torch.float64) for tokens in TOKENS]
    ends = torch.cat(
        [torch.arange(tokens - 1, rows * tokens, tokens) for rows, tokens in zip(ROWS, TOKENS, strict=True)]
    )
    starts = torch.tensor([0, 15, 16]).repeat_interleave(torch.tensor(ROWS))
    ends = ends + starts
    pieces = [Piece(rows, 1, tokens, b[-1:]) for rows, tokens, b in zip(ROWS, TOKENS, bias, strict=True)]
    found = attend(q[:, :, ends].requires_grad_(), k, v, pieces)
    assert torch.allclose(found, plain(q, k, v, [None] * 3)[:, ends])


def test_bf16_products_of_mixed_inputs() -> None:
    q, k, v = drawn(1, 2, torch.float32, seed=3)
    pieces = [
        Piece(rows, tokens, tokens, causal_mask(tokens, tokens, torch.device("cpu"), torch.float32))
        for rows, tokens in zip(ROWS, TOKENS, strict=True)
    ]
    low = v.bfloat16()
    leaves = [leaf.requires_grad_() for leaf in (q, k, low)]
    with torch.autocast("cpu", torch.bfloat16):
        found = attend(q, k, low, pieces)
    wanted = plain(q, k, low.float(), [None] * 3)
    assert found.dtype == torch.bfloat16
    assert (found.float() - wanted).norm() < 0.02 * wanted.norm()
    for leaf, one, other in zip(
        leaves, torch.autograd.grad(found.float().sum(), leaves), torch.autograd.grad(wanted.sum(), leaves), strict=True
    ):
        assert one.dtype == leaf.dtype
        assert (one.float() - other.float()).norm() < 0.03 * other.float().norm()


def test_what_it_leaves_to_others() -> None:
    q, k, v = (leaf.bfloat16().requires_grad_() for leaf in drawn(1, 2, torch.float32))
    bias = torch.zeros(1, 1)
    assert serves(q, k, v, [Piece(1, 1, 1, bias)])
    few = [leaf.float() for leaf in (q, k, v)]
    many = [leaf.new_zeros(4, 2, LARGE // 32, 4).requires_grad_() for leaf in few]
    assert not serves(*few, [Piece(1, 1, 1, bias)])
    assert serves(few[0], few[1], few[1], [Piece(1, 1, 1, bias)])
    assert serves(*many, [Piece(1, 1, SHORT, bias)])
    assert not serves(*many, [Piece(1, 1, SHORT + 1, bias)])
    assert not serves(q, k[:, :1], v[:, :1], [Piece(1, 1, 1, bias)])
    assert not serves(q, k, v, [Piece(1, 1, 1, bias.clone().requires_grad_())])
    with torch.no_grad():
        assert not serves(q, k, v, [Piece(1, 1, 1, bias)])
