"""Products of learned positions: the part of a head's logits that depends on positions only (Huang et al. 2025)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.core.errors import LengthwiseError
from lengthwise.models.kernels.model import FlatTransformer
from lengthwise.models.transformer import Transformer
from lengthwise.nn.learned import LearnedEmbedding


def positional_products(model: Transformer | FlatTransformer) -> Float[Tensor, "layers *runs heads N N"]:
    """S of every layer and head (and run, in a stack): rows are queries, columns are keys.

    Raises `LengthwiseError` for an encoding without a table of positions.
    """
    encoding = model.encoding
    if not isinstance(encoding, LearnedEmbedding):
        raise LengthwiseError(
            "the positional regularizer is not defined for this encoding; use encoding 'learned' "
            "or set training.regularizer to 0"
        )
    table = encoding.table()
    heads, width = model.config.heads, model.config.head_width
    products = []
    for block in model.blocks:
        q, k, _ = (table @ block.attention.qkv.weight.mT).unflatten(-1, (3, heads, width)).movedim(-3, 0)
        q, k = q.transpose(-3, -2), k.transpose(-3, -2)
        products.append(q @ k.mT)
    return torch.stack(products)
