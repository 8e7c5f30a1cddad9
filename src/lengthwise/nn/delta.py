"""DeltaNet (Schlag et al. 2021; Yang et al. 2024, arXiv 2406.06484) and Gated DeltaNet (2025, arXiv 2412.06464).

With factors up to 2 their matrices have negative eigenvalues, too (Grazzi et al. 2025, arXiv 2411.12537).
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.errors import require
from lengthwise.nn.recurrence import Learned, Mixer, ShortConvolution, State, by_head, recurrence, side_by_side


class DeltaNet(Mixer):
    """S_t = α_t S_{t−1} (I − β_t k_t k_tᵀ) + β_t v_t k_tᵀ and y_t = S_t q_t, in heads, each normed (RMSNorm).

    q, k and v are projections behind a short convolution; q and k have length 1. β = sigmoid(projection), twice that
    with ``negative``: the eigenvalue 1 − β of a token's matrix then lies between −1 and 1 instead of 0 and 1. α is 1,
    or with ``gated`` e^{−e^A softplus(projection + bias)}, and the normed heads are gated by SiLU of a projection.

    Raises `LengthwiseError` where heads do not divide the width.

    >>> y, (tail, s) = DeltaNet(64, heads=4, gated=True)(torch.randn(2, 10, 64))
    >>> y.shape, s.shape
    (torch.Size([2, 10, 64]), torch.Size([2, 4, 16, 16]))
    """

    def __init__(self, width: int, heads: int, *, gated: bool = False, negative: bool = False, conv: int = 4) -> None:
        super().__init__()
        require(width % heads == 0, f"heads must divide the width {width}, got {heads}")
        self.heads, self.largest = heads, 2.0 if negative else 1.0
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.conv = ShortConvolution(3 * width, conv)
        self.beta = nn.Linear(width, heads, bias=False)
        self.norm = nn.RMSNorm(width // heads, eps=1e-5)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, width, bias=False) if gated else None
        if gated:
            self.step = nn.Linear(width, heads, bias=False)
            self.log_rate = Learned(torch.empty(heads).uniform_(1, 16).log())
            step = torch.empty(heads).uniform_(math.log(1e-3), math.log(1e-1)).exp()
            self.step_bias = Learned(step + (-torch.expm1(-step)).log())

    def forward(self, x: Float[Tensor, "B T D"], state: State | None = None) -> tuple[Float[Tensor, "B T D"], State]:
        """The mixed tokens, and the last inputs of the convolution with S."""
        tail, s = (None, None) if state is None else state
        mixed, tail = self.conv(self.qkv(x), tail)
        q, k, v = (by_head(part, self.heads) for part in mixed.chunk(3, dim=2))
        q, k = functional.normalize(q, dim=-1), functional.normalize(k, dim=-1)
        beta = self.largest * self.beta(x).sigmoid().mT[..., None]
        log_decay = torch.zeros_like(beta)
        if self.gate is not None:
            step = functional.softplus(self.step(x) + self.step_bias(x)[:, None]).mT[..., None]
            log_decay = -self.log_rate(x).exp()[..., None, None] * step
        y, s = recurrence(q, k, beta * v, log_decay, -log_decay.exp() * beta * k, k, s)
        y = side_by_side(self.norm(y.transpose(1, 2)).transpose(1, 2))
        return self.out(y if self.gate is None else y * functional.silu(self.gate(x))), (tail, s)
