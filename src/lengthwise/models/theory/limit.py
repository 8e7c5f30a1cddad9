"""Limit Transformers (Huang et al. 2025) have a fixed width and run at every length, in float64.

Position enters through vectors p_i = p_{i+Δ} (PERIODIC) and through functions φ of the distance that vanish beyond a
window (LOCAL). Logits are multiplied by ln(i), i = number of visible keys; whether the paper takes i or the length of
the input is open, and only i is causal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.models.theory.limit_parts import LimitLayer, check_finite, check_shape
from lengthwise.models.transformer import TransformerOutput
from lengthwise.nn.module_list import Modules

_ELEMENTS = 1 << 21
"""The largest residual stream, in numbers; larger batches are processed in pieces."""


class TheoryTransformer(nn.Module, ABC):
    """Base of Limit and finite transformers: layers without norms between an embedding and a readout.

    ``embeddings`` is ``[symbols, d]``, ``positions`` ``[P, d]``, ``readout`` ``[outputs, d]``. An output holds if its
    logit is above 0. ``symbols`` names the input ids, ``outputs`` the logits, ``dimensions`` the coordinates of the
    residual stream; ``precision`` rounds logits and exponentials to that many fractional bits. Raises `LengthwiseError`
    for weights that are NaN, not float64 or of the wrong shape.
    """

    embeddings: Tensor
    positions: Tensor
    readout: Tensor

    def __init__(
        self,
        symbols: Sequence[str],
        outputs: Sequence[str],
        *,
        embeddings: Tensor,
        positions: Tensor,
        layers: Iterable[LimitLayer],
        readout: Tensor,
        dimensions: Sequence[str] = (),
        precision: int | None = None,
    ) -> None:
        super().__init__()
        self.symbols, self.outputs, self.precision = tuple(symbols), tuple(outputs), precision
        self.register_buffer("embeddings", embeddings)
        self.register_buffer("positions", positions)
        self.layers = Modules[LimitLayer](layers)
        self.register_buffer("readout", readout)
        self.dimensions = tuple(dimensions) or tuple(f"x{index}" for index in range(self.width))
        self.check()

    @property
    def width(self) -> int:
        """d: the width of the residual stream."""
        return self.embeddings.shape[-1]

    def check(self) -> None:
        """Raise `LengthwiseError` that names the first weights that are not finite float64 or have a wrong shape."""
        check_finite("embedding", E=self.embeddings)
        check_finite("positions", p=self.positions)
        check_finite("readout", U=self.readout)
        check_shape("embedding", "E", self.embeddings, (len(self.symbols), self.width))
        check_shape("positions", "p", self.positions, (len(self.positions), self.width))
        require(len(self.positions) >= 1, "positions: the table needs at least one row (of zeros, without positions)")
        check_shape("readout", "U", self.readout, (len(self.outputs), self.width))
        require(
            len(self.dimensions) == self.width,
            f"{len(self.dimensions)} names of dimensions for a residual stream of width {self.width}",
        )
        if self.precision is not None:
            require(self.precision >= 1, f"precision needs at least 1 fractional bit, got {self.precision}")
        for index, layer in enumerate(self.layers, start=1):
            layer.check(self.width, f"layer {index}")

    @abstractmethod
    def position_vectors(self, offsets: Int[Tensor, " B"], length: int) -> Float[Tensor, "B T d"]:
        """p_{i+o} for i = 1..length in each row."""

    @torch.no_grad()
    def forward(
        self,
        input_ids: Int[Tensor, "B T"],
        position_ids: Int[Tensor, "B T *L"] | None = None,
        *,
        at: Int[Tensor, " S"] | slice | None = None,
    ) -> TransformerOutput:
        """Logits after every token, or only after those ``at``; position ids are o + 1, …, o + T (o = 0 if absent).

        Raises `LengthwiseError` for unknown token ids and for position ids that are not consecutive.
        """
        offsets = self._offsets(input_ids, position_ids)
        if input_ids.numel() and not (input_ids.min() >= 0 and input_ids.max() < len(self.symbols)):
            raise LengthwiseError(
                f"token ids run from 0 to {len(self.symbols) - 1}, got {input_ids.min()} to {input_ids.max()}"
            )
        rows = max(1, _ELEMENTS // max(1, input_ids.shape[1] * self.width))
        kept = slice(None) if at is None else at
        pieces = zip(input_ids.split(rows), offsets.split(rows), strict=True)
        return TransformerOutput(torch.cat([self.hidden(ids, o)[:, kept] @ self.readout.T for ids, o in pieces]))

    def hidden(self, ids: Int[Tensor, "B T"], offsets: Int[Tensor, " B"]) -> Float[Tensor, "B T d"]:
        """The residual stream after the last layer."""
        y = self.embeddings[ids] + self.position_vectors(offsets, ids.shape[1])
        for layer in self.layers:
            y = layer(y, self.precision)
        return y

    def _offsets(self, input_ids: Tensor, position_ids: Tensor | None) -> Tensor:
        if position_ids is None:
            return input_ids.new_zeros(len(input_ids))
        ids = position_ids.reshape(len(input_ids), input_ids.shape[1], -1)[..., 0]
        if bool((ids.diff(dim=1) != 1).any()) or bool((ids < 1).any()):
            raise LengthwiseError("this model needs consecutive position ids o + 1, o + 2, … with an offset o >= 0")
        return ids[:, 0] - 1


class LimitTransformer(TheoryTransformer):
    """A transformer without a bound on the length: ``positions`` holds p_1 … p_Δ, which repeat with period Δ."""

    @property
    def period(self) -> int:
        """Δ: the period of the position vectors."""
        return len(self.positions)

    @property
    def window(self) -> int:
        """τ: the largest distance at which some φ is not zero; 0 if none is."""
        reach = [int(head.phi.nonzero().max()) for layer in self.layers for head in layer.heads if head.phi.any()]
        return max(reach, default=0)

    def position_vectors(self, offsets: Int[Tensor, " B"], length: int) -> Float[Tensor, "B T d"]:
        index = offsets[:, None] + torch.arange(length, device=offsets.device)
        return self.positions[index % self.period]
