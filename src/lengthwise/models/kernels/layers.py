"""torch's layers for R runs: each run's rows meet its own weights.

A layer holds one model's weights (R = 1) or those of a stack, which have the run as their first axis. Inputs have R
times as many rows as one run, ordered by run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.errors import LengthwiseError
from lengthwise.models.kernels.norms import rms_norm
from lengthwise.nn.parameters import Scalars

Hold = Callable[[Tensor], nn.Parameter]
"""From a parameter of one model to the one that a layer holds: itself, or that of a stack."""
WeightAndBias = tuple[Tensor, Tensor | None]
"""Weight and bias with the run as their first axis; of a linear layer [R, E, D] and [R, E], for some or all outputs."""


class RunLayer(nn.Module):
    """A layer with weights, and with a bias or None."""

    weight: nn.Parameter
    bias: nn.Parameter | None

    def __init__(self, plain: nn.Module, hold: Hold) -> None:
        super().__init__()
        weight, bias = plain.get_parameter("weight"), getattr(plain, "bias", None)
        self.dimensions = weight.ndim
        self.weight = hold(weight)
        self.bias = None if bias is None else hold(bias)

    def weights(self) -> WeightAndBias:
        """Weight and bias."""
        if self.weight.ndim > self.dimensions:
            return self.weight, self.bias
        return self.weight[None], None if self.bias is None else self.bias[None]


class RunLinear(RunLayer):
    """`nn.Linear`: one batched product."""

    def forward(self, x: Float[Tensor, "RB *rest D"]) -> Float[Tensor, "RB *rest E"]:
        """Each run's rows times its own matrix."""
        return product(x, *self.weights())

    def parts(self, sizes: Sequence[int]) -> list[WeightAndBias]:
        """The outputs in pieces of these sizes; multiply by `product`."""
        weight, bias = self.weights()
        biases = [None] * len(sizes) if bias is None else bias.split(list(sizes), 1)
        return list(zip(weight.split(list(sizes), 1), biases, strict=True))


class RunEmbedding(RunLayer):
    """`nn.Embedding`: one gather from the runs' tables laid end to end.

    `index_select` has a faster backward pass on a CPU than `embedding`.
    """

    def forward(self, ids: Int[Tensor, "*any"]) -> Float[Tensor, "*any D"]:
        """The rows of each run's own table."""
        tables = self.weights()[0]
        runs, size, width = tables.shape
        if runs > 1:
            offsets = torch.arange(0, runs * size, size, device=ids.device)
            ids = (ids.reshape(runs, -1) + offsets[:, None]).view(ids.shape)
        return tables.flatten(0, 1).index_select(0, ids.flatten()).view(*ids.shape, width)


class RunNorm(RunLayer):
    """`nn.RMSNorm` or `nn.LayerNorm`."""

    def __init__(self, plain: nn.RMSNorm | nn.LayerNorm, hold: Hold) -> None:
        super().__init__(plain, hold)
        self.shape, self.eps, self.centred = plain.normalized_shape, plain.eps, isinstance(plain, nn.LayerNorm)

    def forward(self, x: Float[Tensor, "RB *rest D"]) -> Float[Tensor, "RB *rest D"]:
        """Normalize, then scale (and shift) by each run's own weights."""
        weight, bias = self.weights()
        if not self.centred:
            return rms_norm(x, weight, self.eps)
        assert self.eps is not None
        if len(weight) == 1:
            return functional.layer_norm(x, self.shape, weight[0], None if bias is None else bias[0], self.eps)
        normed = functional.layer_norm(x, self.shape, eps=self.eps).reshape(len(weight), -1, x.shape[-1])
        normed = normed * weight[:, None]
        return (normed if bias is None else normed + bias[:, None]).view_as(x)


class RunScalars(RunLayer):
    """`Scalars`."""

    def forward(self, x: Float[Tensor, "RB ..."]) -> Float[Tensor, ...]:
        """Each row's scalars, shaped to broadcast against ``x``."""
        by_run = self.weights()[0]
        by_row = by_run if len(by_run) == 1 else by_run.repeat_interleave(x.shape[0] // len(by_run), dim=0)
        return by_row.view(*by_row.shape, *[1] * (x.ndim - by_row.ndim))


def replace_layers(module: nn.Module, hold: Hold) -> nn.Module:
    """``module`` with its layer, or every layer below it, replaced by one for R runs.

    Raises `LengthwiseError` for a layer with weights that has no form for R runs.
    """
    if isinstance(module, nn.Linear):
        return RunLinear(module, hold)
    if isinstance(module, nn.Embedding):
        return RunEmbedding(module, hold)
    if isinstance(module, nn.RMSNorm | nn.LayerNorm):
        return RunNorm(module, hold)
    if isinstance(module, Scalars):
        return RunScalars(module, hold)
    if next(module.parameters(recurse=False), None) is not None:
        raise LengthwiseError(
            f"{type(module).__name__} holds parameters itself, which can't train as a stack; hold them in "
            "torch.nn.Linear, or in Scalars or EmbeddingTable of lengthwise.nn.parameters"
        )
    for name, child in module.named_children():
        setattr(module, name, replace_layers(child, hold))
    return module


def product(
    x: Float[Tensor, "RB *rest D"], weight: Float[Tensor, "R E D"], bias: Float[Tensor, "R E"] | None
) -> Float[Tensor, "RB *rest E"]:
    """Each run's rows times its own matrix: one batched product, plain for one run."""
    runs, outputs, inputs = weight.shape
    if runs == 1:
        return functional.linear(x, weight.view(outputs, inputs), None if bias is None else bias.view(outputs))
    rows = x.reshape(runs, -1, inputs)
    result = rows @ weight.mT if bias is None else torch.baddbmm(bias[:, None], rows, weight.mT)
    return result.view(*x.shape[:-1], outputs)


def take(x: Float[Tensor, "R N D"], at: Int[Tensor, " A"]) -> Float[Tensor, "R A D"]:
    """The tokens ``at``, by the operation with the cheaper backward pass."""
    return x.index_select(1, at)
