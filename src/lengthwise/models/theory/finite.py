"""Finite transformers (Θ_N of Huang et al. 2025) have absolute positions up to a context N.

`finite_version` converts a Limit Transformer by adding a coordinate per position: with p_i = e_i there, the product
p_iᵀ KᵀQ p_j of a head is the entry φ(j − i) of a banded Toeplitz matrix, whose norm does not grow with N. The width
grows by N, which does not enter the regularizer.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lengthwise.core.errors import LengthwiseError
from lengthwise.models.theory.limit import LimitTransformer, TheoryTransformer
from lengthwise.models.theory.limit_parts import LimitHead, LimitLayer, LimitMlp

MOST_ENTRIES = 1 << 27
"""The most entries of a table of positions: 1 GiB."""


class FiniteTransformer(TheoryTransformer):
    """An ordinary causal transformer: ``positions`` is a table of N absolute position vectors, all φ are empty."""

    def check(self) -> None:
        """As `TheoryTransformer.check`; also raises `LengthwiseError` for a head with a positional function."""
        super().check()
        for index, layer in enumerate(self.layers, start=1):
            for head in layer.heads:
                if head.phi.any():
                    raise LengthwiseError(
                        f"layer {index}, head {head.name!r} has a positional function φ; a finite transformer has "
                        "position vectors only"
                    )

    @property
    def context(self) -> int:
        """N: the number of positions."""
        return len(self.positions)

    def position_vectors(self, offsets: Int[Tensor, " B"], length: int) -> Float[Tensor, "B T d"]:
        """p_{i+o}; raises `LengthwiseError` when an offset leaves no room."""
        index = offsets[:, None] + torch.arange(length, device=offsets.device)
        if len(offsets) and int(index.max()) >= self.context:
            raise LengthwiseError(
                f"needs {int(index.max()) + 1} positions (length {length} at offset {int(offsets.max())}), but the "
                f"context is {self.context}; compile with a larger --context"
            )
        return self.positions[index]


def finite_version(model: LimitTransformer, context: int) -> FiniteTransformer:
    """The transformer of context N that equals ``model`` on every input of length n and offset o with n + o <= N.

    One-hot coordinates are added only if some head has a positional function. Raises `LengthwiseError` for N < 1.
    """
    if context < 1:
        raise LengthwiseError(f"the context has to be at least 1, got {context}")
    added = context if model.window or any(head.phi.any() for layer in model.layers for head in layer.heads) else 0
    if context * max(added, model.positions.shape[1]) > MOST_ENTRIES:
        raise LengthwiseError(f"a context of {context} needs too large a table of positions; choose a smaller context")
    phases = model.positions[torch.arange(context) % model.period]
    positions = torch.cat([phases, torch.eye(context, added, dtype=phases.dtype)], dim=1)
    layers = [
        LimitLayer([_finite_head(head, added) for head in layer.heads], _finite_mlp(layer.mlp, added))
        for layer in model.layers
    ]
    return FiniteTransformer(
        model.symbols,
        model.outputs,
        embeddings=_wider(model.embeddings, added),
        positions=positions,
        layers=layers,
        readout=_wider(model.readout, added),
        dimensions=(*model.dimensions, *(f"position {index + 1}" for index in range(added))),
        precision=model.precision,
    )


def _finite_head(head: LimitHead, added: int) -> LimitHead:
    key, query = _wider(head.key, added), _wider(head.query, added)
    near = head.phi[:added]
    if near.any():
        width = head.key.shape[1]
        # k_jᵀ q_i picks coordinate j of the query, which is φ(i − j): a Toeplitz band below the diagonal.
        key = torch.cat([key, torch.eye(added, width + added, dtype=key.dtype).roll(width, 1)])
        band = torch.zeros(added, width + added, dtype=key.dtype)
        for distance in near.nonzero().flatten().tolist():
            rows = torch.arange(added - distance)
            band[rows, width + rows + distance] = near[distance]
        query = torch.cat([query, band])
    return LimitHead(
        head.name,
        key=key,
        query=query,
        value_in=_wider(head.value_in, added),
        value_out=_wider(head.value_out.T, added).T.contiguous(),
    )


def _finite_mlp(mlp: LimitMlp, added: int) -> LimitMlp:
    weight_out = _wider(mlp.weight_out.T, added).T.contiguous()
    return LimitMlp(_wider(mlp.weight_in, added), mlp.bias, mlp.step, weight_out)


def _wider(matrix: Float[Tensor, "r d"], added: int) -> Float[Tensor, "r wider"]:
    """The matrix with columns of zeros for the coordinates of positions."""
    return torch.cat([matrix, matrix.new_zeros(len(matrix), added)], dim=1)
