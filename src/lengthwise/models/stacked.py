"""Many transformers of one shape as one, for training: every layer multiplies each run's rows by the run's own weights.

A stack of S models takes S·B sequences, ordered by run. Attention, rotations and masks treat them as one batch; the
layers with weights (`lengthwise.models.kernels`) hold S times as many.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import nn

from lengthwise.models.kernels import optimize, view
from lengthwise.models.transformer import Transformer


class TransformerStack(nn.Module):
    """S transformers of one configuration; every parameter has S as its first dimension."""

    def __init__(self, models: Sequence[Transformer]) -> None:
        super().__init__()
        states = [model.state_dict() for model in models]
        self.model = optimize(models[0], lambda p: nn.Parameter(p.new_empty(len(models), *p.shape)))
        self.model.load_state_dict({name: torch.stack([state[name] for state in states]) for name in states[0]})

    @property
    def runs(self) -> int:
        return self.model.runs

    def view(self, run: int) -> Transformer:
        """One run's model as an ordinary transformer that sees its weights, until `select` makes new ones."""
        return view(self.model, run)

    def unstack(self, run: int) -> Transformer:
        """One run's model as an ordinary transformer with weights of its own."""
        return copy.deepcopy(self.view(run))

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
