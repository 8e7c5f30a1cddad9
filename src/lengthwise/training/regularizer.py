"""The positional regularizer of Huang et al. 2025, in the form that is trained: products of learned positions.

R_pos = Σ over layers and heads of (1/N) Σ_j Σ_{i ≥ j} S_ij², with S = (P W_q)(P W_k)ᵀ for the raw table P (N × d):
no 1/√d, no layer norm, no biases, lower triangle with its diagonal. It is defined for learned position tables only.

A model with norms can make it small without changing a logit: RMSNorm undoes smaller tables, QK-norm smaller matrices.
So there is a form behind the norm (``normed``), for models without QK-norm.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from lengthwise.models.kernels.model import FlatTransformer
from lengthwise.models.regularizer.positional_products import positional_products
from lengthwise.models.transformer import Transformer


def positional_regularizer(model: Transformer | FlatTransformer, *, normed: bool = False) -> Float[Tensor, ""]:
    """R_pos, to be multiplied by λ (published: 1e-4 and 1e-3) and added to the loss."""
    products = positional_products(model, normed=normed)
    return products.tril().square().sum() / products.shape[-1]
