"""Many transformers of one shape as one: runs ride in the batch, and only layers with weights know about them.

A stack of S models takes S·B sequences, run by run. Attention, rotations, biases and masks treat them as one batch, so
the model's own code runs unchanged; layers that hold weights are swapped for layers that hold S times as many and
multiply each run's rows by its own (one batched matrix product).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.models.layers import Part, product
from lengthwise.models.norms import rms_norm
from lengthwise.models.ragged import Segment
from lengthwise.models.transformer import Transformer, TransformerOutput
from lengthwise.nn.parameters import Scalars, gathered


class TransformerStack(nn.Module):
    """S transformers of one configuration; every parameter has S as its first dimension."""

    def __init__(self, models: Sequence[Transformer]) -> None:
        super().__init__()
        # In a list, so that it is no submodule: `unstack` fills a copy of it.
        self._plain = [copy.deepcopy(models[0])]
        states = [model.state_dict() for model in models]
        self.model = copy.deepcopy(models[0])
        _swap(self.model, len(models))
        self.model.load_state_dict({name: torch.stack([state[name] for state in states]) for name in states[0]})

    @property
    def runs(self) -> int:
        """S, the number of models."""
        return next(self.parameters()).shape[0]

    def forward(
        self,
        input_ids: Int[Tensor, "SB T"],
        position_ids: Int[Tensor, "SB T L"],
        *,
        at: Int[Tensor, " Q"] | slice | None = None,
        segments: Sequence[Segment] | None = None,
    ) -> TransformerOutput:
        """What each run's model says to its own B rows (one, with ``segments``); rows are ordered by run."""
        return self.model(input_ids, position_ids, at=at, segments=segments)

    def unstack(self, run: int) -> Transformer:
        """One run's model, as an ordinary transformer with weights of its own."""
        model = copy.deepcopy(self._plain[0]).to(next(self.parameters()).device)
        model.load_state_dict({name: value[run] for name, value in self.model.state_dict().items()})
        return model

    def finite(self) -> list[bool]:
        """For each run, whether all of its weights are finite."""
        fine = [torch.isfinite(parameter).reshape(self.runs, -1).all(dim=1) for parameter in self.parameters()]
        return torch.stack(fine).all(dim=0).tolist()

    def select(self, kept: Sequence[int]) -> None:
        """Drop all runs but ``kept``; parameters become new tensors."""
        index = torch.tensor(kept, dtype=torch.long, device=next(self.parameters()).device)
        for module in self.modules():
            for name, parameter in module.named_parameters(recurse=False):
                setattr(module, name, nn.Parameter(parameter.detach()[index]))


class StackedLinear(nn.Module):
    """`Linear` for S runs: one batched product."""

    def __init__(self, runs: int, plain: nn.Linear) -> None:
        super().__init__()
        self.weight = _stacked(runs, plain.weight)
        self.bias = None if plain.bias is None else _stacked(runs, plain.bias)

    def forward(self, x: Float[Tensor, "SB *rest D"]) -> Float[Tensor, "SB *rest E"]:
        """Each run's rows times its own matrix."""
        return product(x, self.weight, self.bias)

    def whole(self) -> Part:
        """All outputs as one part."""
        return self.weight, self.bias

    def parts(self, sizes: Sequence[int]) -> Iterator[Part]:
        """The outputs in pieces of these sizes."""
        biases = [None] * len(sizes) if self.bias is None else self.bias.split(list(sizes), 1)
        yield from zip(self.weight.split(list(sizes), 1), biases, strict=True)


class StackedEmbedding(nn.Module):
    """Embeddings of S runs: one gather from their tables laid end to end."""

    def __init__(self, runs: int, plain: nn.Embedding) -> None:
        super().__init__()
        self.weight = _stacked(runs, plain.weight)

    def forward(self, ids: Int[Tensor, "SB ..."]) -> Float[Tensor, "SB *rest D"]:
        """The rows of each run's own table."""
        runs, size, width = self.weight.shape
        offsets = torch.arange(0, runs * size, size, device=ids.device)
        rows = (ids.reshape(runs, -1) + offsets[:, None]).flatten()
        return gathered(self.weight.view(runs * size, width), rows).view(*ids.shape, width)

    def scores(self, hidden: Float[Tensor, "SB T D"]) -> Float[Tensor, "SB T V"]:
        """The product of ``hidden`` with every vector of the run's table."""
        return product(hidden, self.weight, None)


class StackedNorm(nn.Module):
    """RMSNorm or LayerNorm with weights (and biases) for S runs."""

    def __init__(self, runs: int, plain: nn.RMSNorm | nn.LayerNorm) -> None:
        super().__init__()
        self.shape, self.eps, self.centred = plain.normalized_shape, plain.eps, isinstance(plain, nn.LayerNorm)
        self.weight = _stacked(runs, plain.weight)
        bias = getattr(plain, "bias", None)
        self.bias = None if bias is None else _stacked(runs, bias)

    def forward(self, x: Float[Tensor, "SB T D"]) -> Float[Tensor, "SB T D"]:
        """Normalize, then scale (and shift) by each run's own weights."""
        if not self.centred:
            return rms_norm(x, self.weight, self.eps)
        assert self.eps is not None
        x = functional.layer_norm(x, self.shape, eps=self.eps)
        by_run = x.view(self.weight.shape[0], -1, x.shape[-1])
        by_run = by_run * self.weight[:, None]
        if self.bias is not None:
            by_run = by_run + self.bias[:, None]
        return by_run.view_as(x)


class StackedScalars(nn.Module):
    """`Scalars` for S runs."""

    def __init__(self, runs: int, plain: Scalars) -> None:
        super().__init__()
        self.weight = _stacked(runs, plain.weight)

    def forward(self, x: Float[Tensor, "SB ..."]) -> Float[Tensor, "SB ..."]:
        """Each row's numbers, shaped to broadcast against ``x``."""
        runs = self.weight.shape[0]
        by_row = self.weight.repeat_interleave(x.shape[0] // runs, dim=0)
        return by_row.view(*by_row.shape, *[1] * (x.ndim - by_row.ndim))


def _stacked(runs: int, parameter: Tensor) -> nn.Parameter:
    return nn.Parameter(parameter.new_empty(runs, *parameter.shape))


def _swap(module: nn.Module, runs: int) -> None:
    """Replace every layer that holds weights, everywhere below ``module``."""
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, StackedLinear(runs, child))
        elif isinstance(child, nn.Embedding):
            setattr(module, name, StackedEmbedding(runs, child))
        elif isinstance(child, nn.RMSNorm | nn.LayerNorm):
            setattr(module, name, StackedNorm(runs, child))
        elif isinstance(child, Scalars):
            setattr(module, name, StackedScalars(runs, child))
        elif next(child.parameters(recurse=False), None) is not None:
            raise TypeError(f"{type(child).__name__} holds weights but has no stacked form; give it one here")
        else:
            _swap(child, runs)
