"""Layers that mix the tokens of a sequence through a state, in place of attention: what they have in common.

Most are one recurrence, S_t = S_{t−1} (diag(w_t) + a_t b_tᵀ) + v_t k_tᵀ with y_t = S_t q_t, with their own w, a and b:
`scan` computes it token by token, `recurrence` in chunks, with the same result.
"""

from __future__ import annotations

import math
from abc import abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

State = tuple[Tensor, ...]
"""What a layer keeps of a sequence: tensors whose first axis is the batch."""


class Mixer(nn.Module):
    """A layer that mixes the tokens of sequences from left to right; subclasses are built from ``width`` and ``heads``.

    Weights are held in `torch.nn.Linear`, `torch.nn.RMSNorm` or `Learned`, and rows of the batch stay in their order:
    then many models train as one stack.
    """

    @abstractmethod
    def forward(self, x: Float[Tensor, "B T D"], state: State | None = None) -> tuple[Float[Tensor, "B T D"], State]:
        """The mixed tokens, and the state after them; ``state`` is that after all tokens before, None at the start."""


class Learned(nn.Module):
    """A learned tensor of any shape, the same for all rows of a batch."""

    def __init__(self, values: Float[Tensor, "*S"]) -> None:
        super().__init__()
        self.weight = nn.Parameter(values)

    def forward(self, x: Float[Tensor, "B ..."]) -> Float[Tensor, "rows ..."]:
        """The numbers of each row of ``x``: one row for all of them, or, in a stack of models, one for each."""
        return self.weight[None]


class ShortConvolution(nn.Module):
    """Each channel becomes a learned sum of its last ``size`` tokens, then SiLU."""

    def __init__(self, channels: int, size: int) -> None:
        super().__init__()
        self.size = size
        bound = 1 / math.sqrt(size)
        self.kernel = Learned(torch.empty(channels, size).uniform_(-bound, bound))

    def forward(
        self, x: Float[Tensor, "B T C"], before: Float[Tensor, "B K C"] | None = None
    ) -> tuple[Float[Tensor, "B T C"], Float[Tensor, "B K C"]]:
        """The convolved tokens, and the last ``size`` − 1 inputs, which the next call gets as ``before``."""
        if before is None:
            before = x.new_zeros(len(x), self.size - 1, x.shape[2])
        padded, kernel = torch.cat([before, x], dim=1), self.kernel(x)[:, None]
        total = sum(padded[:, i : i + x.shape[1]] * kernel[..., i] for i in range(self.size))
        assert isinstance(total, Tensor)
        return functional.silu(total), padded[:, x.shape[1] :]


def by_head(x: Float[Tensor, "B T E"], heads: int) -> Float[Tensor, "B H T e"]:
    """The channels of each head."""
    return x.unflatten(2, (heads, -1)).transpose(1, 2)


def side_by_side(x: Float[Tensor, "B H T e"]) -> Float[Tensor, "B T E"]:
    """The heads' channels side by side."""
    return x.transpose(1, 2).flatten(2)


def scan(
    q: Float[Tensor, "B G T N"],
    k: Float[Tensor, "B G T N"],
    v: Float[Tensor, "B H T P"],
    log_decay: Float[Tensor, "B H T M"],
    a: Float[Tensor, "B H T N"] | None = None,
    b: Float[Tensor, "B H T N"] | None = None,
    state: Float[Tensor, "B H P N"] | None = None,
) -> tuple[Float[Tensor, "B H T P"], Float[Tensor, "B H P N"]]:
    """The recurrence token by token, as it is written: y and the last S; w = exp(``log_decay``), and S starts at 0.

    G is H, or 1 where all heads share q and k; M is N, or 1 where all coordinates decay alike.
    """
    found, s = [], v.new_zeros(*v.shape[:2], v.shape[3], k.shape[3]) if state is None else state
    for t in range(v.shape[2]):
        turned = 0 if a is None or b is None else (s @ a[:, :, t, :, None]) * b[:, :, t, None]
        s = s * log_decay[:, :, t, None].exp() + turned + v[:, :, t, :, None] * k[:, :, t, None]
        found.append((s @ q[:, :, t, :, None])[..., 0])
    return torch.stack(found, dim=2), s


def recurrence(
    q: Float[Tensor, "B G T N"],
    k: Float[Tensor, "B G T N"],
    v: Float[Tensor, "B H T P"],
    log_decay: Float[Tensor, "B H T M"],
    a: Float[Tensor, "B H T N"] | None = None,
    b: Float[Tensor, "B H T N"] | None = None,
    state: Float[Tensor, "B H P N"] | None = None,
    *,
    chunk: int = 32,
) -> tuple[Float[Tensor, "B H T P"], Float[Tensor, "B H P N"]]:
    """`scan` in chunks of tokens, each a few products of matrices; in float32 at least.

    Within a chunk, with c_t = Σ_{s≤t} log w_s and u_t = S_{t−1} a_t, the state is
    S_t = S_0 diag(e^{c_t}) + Σ_{j≤t} (v_j k_jᵀ + u_j b_jᵀ) diag(e^{c_t − c_j}), and the u solve a triangular system
    (Yang et al. 2024 for the delta rule, Dao and Gu 2024 without a and b). Decays that differ by coordinate must not
    fall below e^{−2.5} a token, or e^{−c} overflows within a chunk.
    """
    dtype = torch.promote_types(v.dtype, torch.float32)
    s = v.new_zeros(*v.shape[:2], v.shape[3], k.shape[3]) if state is None else state
    found = []
    with torch.autocast(v.device.type, enabled=False):
        s = s.to(dtype)
        for start in range(0, v.shape[2], chunk):
            part = slice(start, start + chunk)
            qs, ks, vs, decay = (x[:, :, part].to(dtype) for x in (q, k, v, log_decay))
            after = decay.cumsum(2)
            rows = torch.cat([ks, b[:, :, part].to(dtype)], dim=2) if b is not None else ks
            until = torch.cat([after, after], dim=2) if b is not None else after
            if a is not None and b is not None:
                before, turned, size = after - decay, a[:, :, part].to(dtype), vs.shape[2]
                by_key, by_b = products(turned, before, rows, until, -1).split(size, dim=3)
                known = (turned * before.exp()) @ s.mT + by_key @ vs
                # (I − by_b) u = known
                us = torch.linalg.solve_triangular(-by_b, known, upper=False, unitriangular=True)
                vs = torch.cat([vs, us], dim=2)
            found.append((qs * after.exp()) @ s.mT + products(qs, after, rows, until, 0) @ vs)
            last = after[:, :, -1:]
            s = s * last.exp() + vs.mT @ (rows * (last - until).exp())
    return torch.cat(found, dim=2), s


def products(
    left: Float[Tensor, "B G C N"], reached: Tensor, right: Float[Tensor, "B G E N"], since: Tensor, diagonal: int
) -> Float[Tensor, "B H C E"]:
    """Σ_n left_in · right_jn · e^{reached_in − since_jn} where j ≤ i + ``diagonal``, else 0; E is C or twice that."""
    size = left.shape[2]
    earlier = torch.ones(size, size, dtype=torch.bool, device=left.device).tril(diagonal)
    earlier = earlier.repeat(1, right.shape[2] // size)
    if since.shape[3] > 1:
        return ((left * reached.exp()) @ (right * (-since).exp()).mT).masked_fill(~earlier, 0.0)
    return (left @ right.mT) * (reached - since.mT).masked_fill(~earlier, -math.inf).exp()
