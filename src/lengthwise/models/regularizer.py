"""The regularizer of Huang et al. 2025: positional products of a model, and its table."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.models.kernels import FlatTransformer
from lengthwise.models.transformer import Attention, Transformer
from lengthwise.nn.absolute import LearnedEmbedding


def positional_products(
    model: Transformer | FlatTransformer, *, normed: bool = False
) -> Float[Tensor, "layers *runs heads N N"]:
    """S of every layer and head (and run, in a stack): rows are queries, columns are keys.

    With ``normed`` the position vectors are taken as the norm before attention leaves them: divided by the root mean
    square of token plus position vectors, over all pairs of the two, and times the norm's weight. Without it a model
    can lower S by smaller tables alone, which the norm undoes. What layers add to the residual stream is left out.

    Raises `LengthwiseError` for an encoding without a table of positions, and with ``normed`` for another norm.
    """
    encoding = model.encoding
    if not isinstance(encoding, LearnedEmbedding):
        raise LengthwiseError(
            "the positional regularizer is not defined for this encoding; use encoding 'learned' "
            "or set training.regularizer to 0"
        )
    table = encoding.table()
    model.config.need_attention("the positional regularizer")
    if normed:
        require(
            model.config.norm != "layer",
            "the regularizer behind the norm is defined for RMSNorm; set model.norm to rms or peri, or "
            "training.regularizer_normed to false",
        )
        table = table / typical_size(model.table.weight, table)[..., None, None]
    heads, width = model.config.heads, model.config.head_width
    products = []
    for block in model.blocks:
        rows = table
        if normed:
            weight = block.norm1.weight
            assert isinstance(weight, Tensor)
            rows = table * weight[..., None, :]
        assert isinstance(block.attention, Attention)
        q, k, _ = (rows @ block.attention.qkv.weight.mT).unflatten(-1, (3, heads, width)).movedim(-3, 0)
        q, k = q.transpose(-3, -2), k.transpose(-3, -2)
        products.append(q @ k.mT)
    return torch.stack(products)


def typical_size(tokens: Float[Tensor, "*runs V D"], positions: Float[Tensor, "*runs N D"]) -> Float[Tensor, "*runs"]:
    """The root mean square of E_t + P_p over all tokens t, positions p and coordinates."""
    both = 2 * (tokens.mean(-2) * positions.mean(-2)).mean(-1)
    return (tokens.square().mean((-2, -1)) + positions.square().mean((-2, -1)) + both).sqrt()
