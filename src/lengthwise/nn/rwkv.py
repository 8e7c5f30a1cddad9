"""RWKV-7 without what spans layers (Peng et al. 2025, arXiv 2503.14456)."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.errors import require
from lengthwise.nn.recurrence import Learned, Mixer, State, by_head, recurrence, side_by_side

PARTS = ("r", "w", "k", "v", "a", "g")
"""What is projected, each from its own mixture of a token with the one before."""


class RWKV7(Mixer):
    """S_t = S_{t−1} (diag(w_t) − κ_t (a_t ⊙ κ_t)ᵀ) + v_t k_tᵀ and y_t = S_t r_t, in heads, normed and gated.

    Each of r, w, k, v, a and g is projected from x_t + μ ⊙ (x_{t−1} − x_t), with its own μ; w, a and g through
    ``rank`` dimensions. w = exp(−e^{−1/2} sigmoid(…)) by coordinate, a = sigmoid(…), κ = k ⊙ ξ with length 1 in each
    head, and k ⊙ (1 + (a − 1) ⊙ ζ) is written. To each head's y, normed, (r · (ρ ⊙ k)) v is added, then all is
    multiplied by g. Left out: the first layer's values in later layers, the norm's bias and the own feed-forward part.

    Raises `LengthwiseError` where heads do not divide the width.

    >>> y, (last, s) = RWKV7(64, heads=4)(torch.randn(2, 10, 64))
    >>> y.shape, s.shape
    (torch.Size([2, 10, 64]), torch.Size([2, 4, 16, 16]))
    """

    def __init__(self, width: int, heads: int, *, rank: int = 16) -> None:
        super().__init__()
        require(width % heads == 0, f"heads must divide the width {width}, got {heads}")
        self.heads = heads
        self.shift = Learned(torch.full((len(PARTS), width), 0.5))
        self.r, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.down_w, self.down_a, self.down_g = (nn.Linear(width, rank, bias=False) for _ in range(3))
        self.up_w, self.up_a = nn.Linear(rank, width), nn.Linear(rank, width)
        self.up_g = nn.Linear(rank, width, bias=False)
        self.removed, self.written = Learned(torch.full((width,), 0.85)), Learned(torch.ones(width))
        self.bonus, self.norm = Learned(torch.zeros(width)), Learned(torch.ones(width))

    def forward(self, x: Float[Tensor, "B T D"], state: State | None = None) -> tuple[Float[Tensor, "B T D"], State]:
        """The mixed tokens, and the last input with S."""
        last, s = (x.new_zeros(x[:, :1].shape), None) if state is None else state
        change = torch.cat([last, x[:, :-1]], dim=1) - x
        r, w, k, v, a, g = (x + change * part[:, None] for part in self.shift(x).unbind(1))
        r, k, v = self.r(r), self.k(k), self.v(v)
        log_decay = -math.exp(-0.5) * self.up_w(self.down_w(w).tanh()).sigmoid()
        a = self.up_a(self.down_a(a)).sigmoid()
        gate = self.up_g(self.down_g(g).sigmoid())
        removed = functional.normalize(by_head(k * self.removed(x)[:, None], self.heads), dim=-1)
        k = k * (1 + (a - 1) * self.written(x)[:, None])
        heads = [by_head(part, self.heads) for part in (r, k, v, log_decay, a, self.bonus(x)[:, None] * k)]
        rs, ks, vs, decay, rate, bonus = heads
        y, s = recurrence(rs, ks, vs, decay, -removed, rate * removed, s)
        y = functional.layer_norm(y, y.shape[-1:], eps=1e-5 * y.shape[-1])
        y = side_by_side(y) * self.norm(x)[:, None] + side_by_side((rs * bonus).sum(-1, keepdim=True) * vs)
        return self.out(y * gate), (x[:, -1:], s)
