"""AdamW for a stack of runs, each with a learning rate and weight decay of its own, and gradients clipped per run."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim.adamw import adamw

from lengthwise.training.config import TrainingConfig


class StackedAdamW:
    """The same update as `torch.optim.AdamW`, on parameters whose first dimension is the run; decay on matrices only.

    Neighbouring runs with equal settings are updated by one fused kernel, so a stack without a grid costs one.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], config: TrainingConfig, decays: Sequence[float]) -> None:
        self.config, self.decays = config, list(decays)
        self.parameters = list(parameters)
        self.averages = [torch.zeros_like(p) for p in self.parameters]
        self.squares = [torch.zeros_like(p) for p in self.parameters]
        self.counts = [torch.zeros((), device=p.device) for p in self.parameters]
        """Updates of each parameter; a step without a gradient is none."""

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def clip(self, limit: float) -> Float[Tensor, " S"]:
        """Scale each run's gradient to a norm of at most ``limit``; returns the norms before.

        For one run these are the bits of `torch.nn.utils.clip_grad_norm_`.
        """
        grads = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        if len(self.decays) == 1:
            norm = torch.nn.utils.get_total_norm([grad[0] for grad in grads])[None]
        else:
            norms = [torch.linalg.vector_norm(grad.reshape(len(grad), -1), dim=1) for grad in grads]
            norm = torch.linalg.vector_norm(torch.stack(norms), dim=0)
        factor = (limit / (norm + 1e-6)).clamp(max=1.0)
        # On a CPU there is no pass over gradients that need no scaling. Elsewhere to look would make the device wait.
        if norm.device.type == "cpu" and bool((factor == 1).all()):
            return norm
        for grad in grads:
            grad.mul_(factor.view(-1, *[1] * (grad.ndim - 1)))
        return norm

    @torch.no_grad()
    def step(self, rates: Sequence[float]) -> None:
        """One update with the learning rate of each run."""
        settings = [(key, len(list(runs))) for key, runs in itertools.groupby(zip(rates, self.decays, strict=True))]
        start = 0
        for (rate, decay), size in settings:
            runs = None if len(settings) == 1 else slice(start, start + size)
            # The kernel counts its update, which the runs after these have still to make.
            counts = self.counts if start + size == len(self.decays) else [count.clone() for count in self.counts]
            # The first dimension is the run.
            self._update(runs, rate, decay, counts, [p.ndim > 2 for p in self.parameters])
            self._update(runs, rate, 0.0, counts, [p.ndim <= 2 for p in self.parameters])
            start += size

    def _update(self, runs: slice | None, rate: float, decay: float, counts: list[Tensor], mine: list[bool]) -> None:
        chosen = [
            (parameter, parameter.grad, average, square, count)
            for parameter, average, square, count, use in zip(
                self.parameters, self.averages, self.squares, counts, mine, strict=True
            )
            if use and parameter.grad is not None
        ]
        if not chosen:
            return
        parameters, grads, averages, squares, steps = (list(part) for part in zip(*chosen, strict=True))
        if runs is not None:
            parameters, grads, averages, squares = (
                [tensor[runs] for tensor in part] for part in (parameters, grads, averages, squares)
            )
        adamw(
            parameters, grads, averages, squares, [], steps, fused=True, amsgrad=False, maximize=False, lr=rate,
            beta1=self.config.betas[0], beta2=self.config.betas[1], weight_decay=decay, eps=1e-8,
        )  # fmt: skip

    def select(self, parameters: Sequence[nn.Parameter], kept: Sequence[int]) -> None:
        index = torch.tensor(kept, dtype=torch.long, device=self.parameters[0].device)
        self.parameters = list(parameters)
        self.averages = [average[index] for average in self.averages]
        self.squares = [square[index] for square in self.squares]
        self.decays = [self.decays[run] for run in kept]
