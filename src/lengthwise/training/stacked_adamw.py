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
    """The same update as `torch.optim.AdamW`, on parameters whose first dimension is the run.

    Neighbouring runs with equal settings are updated by one fused kernel, so a stack without a grid costs one.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], config: TrainingConfig, decays: Sequence[float]) -> None:
        self.config, self.decays, self.steps = config, list(decays), 0
        self.parameters = list(parameters)
        self.averages = [torch.zeros_like(p) for p in self.parameters]
        self.squares = [torch.zeros_like(p) for p in self.parameters]

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def clip(self, limit: float) -> Float[Tensor, " S"]:
        """Scale each run's gradient to a norm of at most ``limit``; returns the norms before."""
        grads = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        norms = torch.stack([torch.linalg.vector_norm(grad.reshape(len(grad), -1), dim=1) for grad in grads])
        norm = torch.linalg.vector_norm(norms, dim=0)
        factor = (limit / (norm + 1e-6)).clamp(max=1.0)
        if norm.device.type == "cpu" and bool((factor == 1).all()):
            return norm
        for grad in grads:
            grad.mul_(factor.view(-1, *[1] * (grad.ndim - 1)))
        return norm

    @torch.no_grad()
    def step(self, rates: Sequence[float]) -> None:
        """One update with the learning rate of each run."""
        settings = list(zip(rates, self.decays, strict=True))
        start = 0
        for (rate, decay), runs in itertools.groupby(settings):
            end = start + len(list(runs))
            # Decay is for matrices only; the first dimension is the run.
            self._update(slice(start, end), rate, decay, [p.ndim > 2 for p in self.parameters])
            self._update(slice(start, end), rate, 0.0, [p.ndim <= 2 for p in self.parameters])
            start = end
        self.steps += 1

    def _update(self, runs: slice, rate: float, decay: float, mine: list[bool]) -> None:
        chosen = [
            (parameter[runs], parameter.grad[runs], average[runs], square[runs])
            for parameter, average, square, use in zip(self.parameters, self.averages, self.squares, mine, strict=True)
            if use and parameter.grad is not None
        ]
        if not chosen:
            return
        parameters, grads, averages, squares = (list(tensors) for tensors in zip(*chosen, strict=True))
        adamw(
            parameters, grads, averages, squares, [],
            list(torch.full((len(chosen),), float(self.steps), device=parameters[0].device).unbind()),
            fused=True, amsgrad=False, beta1=self.config.betas[0], beta2=self.config.betas[1],
            lr=rate, weight_decay=decay, eps=1e-8, maximize=False,
        )  # fmt: skip

    def select(self, parameters: Sequence[nn.Parameter], kept: Sequence[int]) -> None:
        """Drop all runs but ``kept``; ``parameters`` are the stack's new ones."""
        index = torch.tensor(kept, dtype=torch.long, device=self.parameters[0].device)
        self.parameters = list(parameters)
        self.averages = [average[index] for average in self.averages]
        self.squares = [square[index] for square in self.squares]
        self.decays = [self.decays[run] for run in kept]

    def fill(self, run: int, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Copy one run's state into the ``optimizer`` of its ordinary ``model``."""
        for parameter, average, square in zip(model.parameters(), self.averages, self.squares, strict=True):
            step = torch.tensor(float(self.steps))
            optimizer.state[parameter] = {"step": step, "exp_avg": average[run], "exp_avg_sq": square[run]}
