"""Rows with padding: a rule gets them with the tokens first, and its ids go back to where the tokens were."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Int, Num
from torch import Tensor

from lengthwise.core.errors import require
from lengthwise.hf.rules.base import IdRule, check_prefix


def padding_mask(mask: Tensor | None, tokens: Int[Tensor, "B T"]) -> Bool[Tensor, "B T"]:
    """True at tokens, False at padding; everything is a token without a mask of shape [B, T].

    Raises `LengthwiseError` for a mask of shape [B, T'].
    """
    if mask is None or mask.ndim != 2:
        return torch.ones_like(tokens, dtype=torch.bool)
    require(
        mask.shape == tokens.shape,
        f"the attention mask has shape {list(mask.shape)} and the tokens {list(tokens.shape)}; "
        "pass all tokens, those in the cache included",
    )
    return mask.to(tokens.device).bool()


def plain_ids(mask: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """The index of each token among the tokens of its row; 0 at padding in front."""
    return (mask.long().cumsum(dim=1) - 1).clamp(min=0)


def rule_ids(
    rule: IdRule, tokens: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"], *, training: bool, check: bool = False
) -> Num[Tensor, "B T"]:
    """Ids of all tokens by ``rule``; padding gets some id that no token sees.

    With ``check``, ids that depend on later tokens or on other rows are refused. Raises `LengthwiseError` for a batch
    without tokens.
    """
    require(tokens.numel() > 0, f"a batch of shape {list(tokens.shape)} has no tokens to number; give rows with tokens")
    lengths = mask.sum(dim=1)
    order = torch.argsort((~mask).byte(), dim=1, stable=True)
    rows = tokens.gather(1, order)
    found = rule.ids(rows, lengths, training)
    if check:
        check_prefix(rule, rows, lengths, found)
    return torch.zeros_like(found).scatter(1, order, found)
