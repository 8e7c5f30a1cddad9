"""Attention of the theory's transformers: softmax of ln(i) · (k_j · q_i + φ(i − j)) over the i visible keys.

A head without logits is a running mean. A head with equal queries and few distinct scores is a sum of running sums,
one per score, with a correction per distance of φ. Both take time linear in the length. Every other head computes the
full matrix (`attend_reference`), which is also the oracle of the two.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.core.errors import require

_MOST_SCORES = 4
"""The largest number of distinct scores that are summed separately."""

_MATRIX_ELEMENTS = 1 << 24
"""The largest number of logits in memory on the quadratic path."""

_LARGEST_LOGIT = 700.0
"""exp of more than this is infinite in float64; only rounded attention exponentiates before it normalizes."""


def attend(
    keys: Float[Tensor, "B T r"],
    queries: Float[Tensor, "B T r"],
    phi: Float[Tensor, " window"],
    values: Float[Tensor, "B T v"],
    precision: int | None = None,
) -> Float[Tensor, "B T v"]:
    """The mean of the visible values under the attention weights.

    ``precision`` rounds logits and exponentials to that many fractional bits, but not the outputs, which contain 1/i.
    """
    length = values.shape[1]
    near = phi[:length]
    if precision is None:
        if not keys.any() or not queries.any():
            if not near.any():
                return values.cumsum(1) / _visible(values)[:, None]
            return _grouped(values.new_zeros(values.shape[:2]), near, values)
        if bool((queries == queries[:1, :1]).all()):
            scores = keys @ queries[0, 0]
            if len(scores.unique()) <= _MOST_SCORES:
                return _grouped(scores, near, values)
    rows = max(1, _MATRIX_ELEMENTS // (length * length))
    pieces = zip(keys.split(rows), queries.split(rows), values.split(rows), strict=True)
    return torch.cat([attend_reference(k, q, near, v, precision) for k, q, v in pieces])


def _grouped(
    scores: Float[Tensor, "B T"], phi: Float[Tensor, " window"], values: Float[Tensor, "B T v"]
) -> Float[Tensor, "B T v"]:
    """Running sums per distinct score; the weight of key j is i^(score + φ), divided by the largest possible weight."""
    extended = torch.cat([values, torch.ones_like(values[..., :1])], dim=-1)  # the last column is the denominator
    log = _visible(values).log()
    distinct = scores.unique()
    largest = float(distinct.max()) + max(0.0, float(phi.max()) if len(phi) else 0.0)
    total = torch.zeros_like(extended)
    for score in distinct:
        # The sum of small integers is exact; the weight is applied afterwards.
        sums = (extended * (scores == score)[..., None]).cumsum(1)
        total += ((score - largest) * log).exp()[:, None] * sums
    for distance in phi.nonzero().flatten().tolist():
        source = slice(0, values.shape[1] - distance)
        here = (scores[:, source] - largest) * log[distance:]
        correction = (here + phi[distance] * log[distance:]).exp() - here.exp()
        total[:, distance:] += correction[..., None] * extended[:, source]
    return total[..., :-1] / total[..., -1:]


def attend_reference(
    keys: Float[Tensor, "B T r"],
    queries: Float[Tensor, "B T r"],
    phi: Float[Tensor, " window"],
    values: Float[Tensor, "B T v"],
    precision: int | None = None,
) -> Float[Tensor, "B T v"]:
    """The formula on the full matrix of logits; raises `LengthwiseError` if rounded logits overflow."""
    length = values.shape[1]
    logits = queries @ keys.mT
    distance = torch.arange(length)[:, None] - torch.arange(length)[None, :]
    if len(phi):
        bias = torch.where((distance >= 0) & (distance < len(phi)), phi[distance.clamp(0, len(phi) - 1)], 0.0)
        logits = logits + bias
    logits = logits * _visible(values).log()[:, None]
    hidden = (distance < 0).to(logits.device)
    if precision is None:
        return torch.softmax(logits.masked_fill(hidden, -math.inf), dim=-1) @ values
    step = 2.0**precision
    logits = (logits * step).round() / step
    require(
        bool((logits.masked_fill(hidden, 0) <= _LARGEST_LOGIT).all()),
        f"a logit of {float(logits.masked_fill(hidden, 0).max()):g} cannot be exponentiated; run without precision",
    )
    weights = ((logits.exp() * step).round() / step).masked_fill(hidden, 0)
    return weights @ values / weights.sum(-1, keepdim=True).clamp_min(1 / step)


def _visible(values: Float[Tensor, "B T v"]) -> Float[Tensor, " T"]:
    """i = 1..T: the number of visible keys at each position."""
    return torch.arange(1, values.shape[1] + 1, dtype=values.dtype, device=values.device)
