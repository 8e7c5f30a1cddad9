"""The layers of the theory's transformers: heads with a positional function φ, and MLPs of ReLU and Heaviside units.

The transformers of Huang et al. 2025 have no layer norm. A head has logits y_jᵀ KᵀQ y_i + φ(j, i), multiplied by a
logarithm of the length, and a value matrix V of bounded rank. The MLP is B ψ(A y + b).
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.models.theory.limit_attention import attend
from lengthwise.nn.module_list import Modules


class LimitHead(nn.Module):
    """One head. K and Q are ``[r, d]`` (r may be 0: no content logits), V = ``value_out [d, v]`` @ ``value_in [v, d]``.

    ``phi`` holds φ(0), …, φ(τ) by distance i − j and is zero beyond, so it is LOCAL and translation invariant.
    `local_function` computes it from a table φ(j, i).
    """

    key: Tensor
    query: Tensor
    value_in: Tensor
    value_out: Tensor
    phi: Tensor

    def __init__(
        self, name: str, *, key: Tensor, query: Tensor, value_in: Tensor, value_out: Tensor, phi: Tensor | None = None
    ) -> None:
        super().__init__()
        self.name = name
        phi = key.new_zeros(0) if phi is None else phi
        for field, tensor in (
            ("key", key), ("query", query), ("value_in", value_in), ("value_out", value_out), ("phi", phi),
        ):  # fmt: skip
            self.register_buffer(field, tensor)

    def forward(self, y: Float[Tensor, "B T d"], precision: int | None) -> Float[Tensor, "B T d"]:
        """The head's contribution to the residual stream."""
        keys, queries, values = (_product(y, matrix) for matrix in (self.key, self.query, self.value_in))
        return attend(keys, queries, self.phi, values, precision) @ self.value_out.T

    def check(self, width: int, where: str) -> None:
        """Raise `LengthwiseError` for NaN or infinite weights and for shapes that do not fit."""
        where = f"{where}, head {self.name!r}"
        check_finite(where, key=self.key, query=self.query, V=self.value_in, V_out=self.value_out, phi=self.phi)
        check_shape(where, "K", self.key, (len(self.key), width))
        check_shape(where, "Q", self.query, (len(self.key), width))
        check_shape(where, "V (input side)", self.value_in, (len(self.value_in), width))
        check_shape(where, "V (output side)", self.value_out, (width, len(self.value_in)))
        require(self.phi.ndim == 1, f"{where}: φ has to be a list of values by distance, got shape {_shape(self.phi)}")


class LimitMlp(nn.Module):
    """B ψ(A y + b): ψ is a Heaviside step (x > 0) for the units where ``step`` holds, else ReLU.

    A is ``weight_in [m, d]``, b is ``bias [m]``, B is ``weight_out [d, m]``.
    """

    weight_in: Tensor
    bias: Tensor
    step: Tensor
    weight_out: Tensor

    def __init__(self, weight_in: Tensor, bias: Tensor, step: Tensor, weight_out: Tensor) -> None:
        super().__init__()
        for field, tensor in (("weight_in", weight_in), ("bias", bias), ("step", step), ("weight_out", weight_out)):
            self.register_buffer(field, tensor)

    def forward(self, y: Float[Tensor, "B T d"]) -> Float[Tensor, "B T d"]:
        """The MLP's contribution to the residual stream."""
        before = _product(y, self.weight_in) + self.bias
        after = torch.where(self.step, (before > 0).to(y.dtype), before.relu())
        return after @ self.weight_out.T

    def check(self, width: int, where: str) -> None:
        """Raise `LengthwiseError` for NaN or infinite weights and for shapes that do not fit."""
        where, units = f"{where}, MLP", len(self.bias)
        check_finite(where, A=self.weight_in, b=self.bias, B=self.weight_out)
        require(self.bias.ndim == 1, f"{where}: b has to be a vector, got shape {_shape(self.bias)}")
        check_shape(where, "A", self.weight_in, (units, width))
        check_shape(where, "B", self.weight_out, (width, units))
        check_shape(where, "step", self.step, (units,))


class LimitLayer(nn.Module):
    """Heads in parallel, then an MLP, each added to the residual stream; no layer norm."""

    def __init__(self, heads: Iterable[LimitHead], mlp: LimitMlp) -> None:
        super().__init__()
        self.heads = Modules[LimitHead](heads)
        self.mlp = mlp

    def forward(self, y: Float[Tensor, "B T d"], precision: int | None) -> Float[Tensor, "B T d"]:
        """The residual stream after the layer."""
        total = y
        for head in self.heads:
            total = total + head(y, precision)
        return total + self.mlp(total)

    def check(self, width: int, where: str) -> None:
        """As `LimitHead.check`, for every head and the MLP."""
        for head in self.heads:
            head.check(width, where)
        self.mlp.check(width, where)


def local_function(table: Float[Tensor, "N N"], window: int, *, name: str = "φ") -> Float[Tensor, " window"]:
    """φ(0..window) of a table ``table[i - 1, j - 1]`` = φ(j, i), j <= i.

    Raises `LengthwiseError` with the positions at which it is not translation invariant or not LOCAL.
    """
    size = len(table)
    require(table.ndim == 2 and table.shape == (size, size), f"{name} has to be a square table, got {_shape(table)}")
    check_finite(name, values=table)
    values = table.new_zeros(window + 1)
    for distance in range(size):
        diagonal = table.diagonal(-distance)
        differs = (diagonal != diagonal[0]).nonzero()
        if len(differs):
            first = int(differs[0]) + 1
            raise LengthwiseError(
                f"{name} is not translation invariant: φ(1, {1 + distance}) = {diagonal[0]:g}, "
                f"but φ({first}, {first + distance}) = {diagonal[first - 1]:g}"
            )
        if distance <= window:
            values[distance] = diagonal[0]
        elif diagonal[0] != 0:
            raise LengthwiseError(
                f"{name} is not local: φ(1, {1 + distance}) = {diagonal[0]:g}, but it has to be 0 beyond "
                f"the window τ = {window}; raise the window or cut φ off"
            )
    return values


def periodic_vectors(table: Float[Tensor, "N d"], period: int, *, name: str = "position vectors") -> Tensor:
    """p_1 … p_Δ of a longer table; raises `LengthwiseError` with the positions at which it is not PERIODIC."""
    require(1 <= period <= len(table), f"{name}: period {period} needs a table of at least that many rows")
    check_finite(name, values=table)
    differs = (table[period:] != table[:-period]).nonzero() if period < len(table) else table.new_zeros(0, 2)
    if len(differs):
        row, column = (int(index) for index in differs[0])
        raise LengthwiseError(
            f"{name} are not periodic with Δ = {period}: coordinate {column} is {table[row, column]:g} at position "
            f"{row + 1} and {table[row + period, column]:g} at position {row + 1 + period}"
        )
    return table[:period].clone()


def _product(y: Float[Tensor, "B T d"], matrix: Float[Tensor, "r d"]) -> Float[Tensor, "B T r"]:
    """y @ matrixᵀ, restricted to the coordinates that the matrix reads if they are less than half."""
    used = matrix.any(0).nonzero().flatten()
    return y @ matrix.T if 2 * len(used) > len(matrix.T) else y[..., used] @ matrix[:, used].T


def check_finite(where: str, **tensors: Tensor) -> None:
    """Raise `LengthwiseError` that names the first tensor that is not float64 or not finite."""
    for name, tensor in tensors.items():
        if tensor.dtype != torch.float64:
            raise LengthwiseError(f"{where}: {name} is {tensor.dtype}, but exact counting needs float64 weights")
        bad = (~torch.isfinite(tensor)).nonzero()
        if len(bad):
            raise LengthwiseError(f"{where}: {name} holds {tensor[tuple(bad[0])].item()} at {tuple(bad[0].tolist())}")


def check_shape(where: str, name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
    """Raise `LengthwiseError` unless the tensor has the shape."""
    require(tuple(tensor.shape) == shape, f"{where}: {name} has shape {_shape(tensor)}, expected {list(shape)}")


def _shape(tensor: Tensor) -> list[int]:
    return list(tensor.shape)
