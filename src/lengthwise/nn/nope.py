"""No position encoding (Haviv et al. 2022, Kazemnejad et al. 2023)."""

from __future__ import annotations

from lengthwise.nn.base import PositionEncoding


class NoPE(PositionEncoding):
    """Nothing is added and nothing is rotated; only the causal mask distinguishes positions.

    >>> import torch
    >>> from lengthwise.nn import NoPE
    >>> ids = torch.arange(10).expand(2, 10)
    >>> encoding = NoPE()
    >>> encoding.embed(ids), encoding.bias(ids, ids)
    (None, None)
    """
