"""Mamba-2, a state space model with one decay for each head (Dao and Gu 2024, arXiv 2405.21060)."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.errors import require
from lengthwise.nn.recurrence import Learned, Mixer, ShortConvolution, State, by_head, recurrence, side_by_side


class Mamba2(Mixer):
    """S_t = e^{−Δ_t e^A} S_{t−1} + Δ_t x_t B_tᵀ and y_t = S_t C_t + D x_t, in heads, gated and normed.

    x, B and C are projections of the tokens behind a short convolution; Δ = softplus(projection + bias) and A are
    numbers of each head, B and C are shared by the heads. All decays lie between 0 and 1. ``state`` is the length of B
    and C, ``expand`` how many times wider than the model x is. The convolution has no bias.

    Raises `LengthwiseError` where heads do not divide the inner width.

    >>> y, (tail, s) = Mamba2(64, heads=4, state=16)(torch.randn(2, 10, 64))
    >>> y.shape, s.shape
    (torch.Size([2, 10, 64]), torch.Size([2, 4, 32, 16]))
    """

    def __init__(self, width: int, heads: int, *, state: int = 64, expand: int = 2, conv: int = 4) -> None:
        super().__init__()
        inner = expand * width
        require(inner % heads == 0, f"heads must divide the inner width {inner}, got {heads}")
        self.heads, self.sizes = heads, (inner, inner + 2 * state, heads)
        self.project = nn.Linear(width, sum(self.sizes), bias=False)
        self.conv = ShortConvolution(inner + 2 * state, conv)
        self.log_rate = Learned(torch.empty(heads).uniform_(1, 16).log())
        # softplus of the bias lies between 0.001 and 0.1, evenly on a logarithmic scale.
        step = torch.empty(heads).uniform_(math.log(1e-3), math.log(1e-1)).exp()
        self.step_bias = Learned(step + (-torch.expm1(-step)).log())
        self.skip = Learned(torch.ones(heads))
        self.norm = nn.RMSNorm(inner, eps=1e-5)
        self.out = nn.Linear(inner, width, bias=False)

    def forward(self, x: Float[Tensor, "B T D"], state: State | None = None) -> tuple[Float[Tensor, "B T D"], State]:
        """The mixed tokens, and the last inputs of the convolution with S."""
        tail, s = (None, None) if state is None else state
        gate, mixed, step = self.project(x).split(self.sizes, dim=2)
        mixed, tail = self.conv(mixed, tail)
        inner = self.sizes[0]
        values = by_head(mixed[..., :inner], self.heads)
        keys, queries = mixed[:, None, :, inner:].chunk(2, dim=3)
        step = functional.softplus(step + self.step_bias(x)[:, None]).mT[..., None]
        decay = -self.log_rate(x).exp()[..., None, None] * step
        y, s = recurrence(queries, keys, values * step, decay, state=s)
        y = side_by_side(y + self.skip(x)[..., None, None] * values)
        return self.out(self.norm(y * functional.silu(gate))), (tail, s)
