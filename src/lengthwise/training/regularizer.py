"""The positional regularizer of Huang et al. 2025, in the form that is trained: products of learned positions.

R_pos = Σ over layers and heads of (1/N) Σ_j Σ_{i ≥ j} S_ij², with S = (P W_q)(P W_k)ᵀ for the raw table P (N × d):
no 1/√d, no layer norm, no biases, lower triangle with its diagonal. It is defined for learned position tables only.
"""

from __future__ import annotations

from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.core.errors import LengthwiseError
from lengthwise.models.transformer import Block, Transformer
from lengthwise.positions.encodings.absolute import LearnedTable


def positional_products(model: Transformer) -> Float[Tensor, "layers *runs heads N N"]:
    """S of every layer and head (and run, in a stack): rows are queries, columns are keys.

    Raises `LengthwiseError` without a table.
    """
    encoding = model.encoding
    if not isinstance(encoding, LearnedTable):
        raise LengthwiseError(
            "the positional regularizer is not defined for this encoding; use encoding 'learned' "
            "or set training.regularizer to 0"
        )
    table = torch.stack([module.weight for module in encoding.tables]).sum(0)  # type: ignore[misc]
    heads, width = model.config.heads, model.config.head_width
    products = []
    for block in cast("list[Block]", list(model.blocks)):
        q, k, _ = (table @ block.attention.qkv.weight.mT).unflatten(-1, (3, heads, width)).movedim(-3, 0)
        q, k = q.transpose(-3, -2), k.transpose(-3, -2)
        products.append(q @ k.mT)
    return torch.stack(products)


def positional_regularizer(model: Transformer) -> Float[Tensor, ""]:
    """R_pos, to be multiplied by λ (published: 1e-4 and 1e-3) and added to the loss."""
    products = positional_products(model)
    return products.tril().square().sum() / products.shape[-1]
