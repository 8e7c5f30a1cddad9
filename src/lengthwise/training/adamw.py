"""AdamW for a stack of runs, with gradients clipped per run."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim.adamw import adamw

from lengthwise.training.config import TrainingConfig


class StackedAdamW:
    """The update of `torch.optim.AdamW` on parameters whose first dimension is the run; decay on matrices only."""

    def __init__(self, parameters: Sequence[nn.Parameter], config: TrainingConfig) -> None:
        self.config, self.parameters = config, list(parameters)
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
        if len(self.parameters[0]) == 1:
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
    def step(self, rate: float) -> None:
        """One update with this learning rate."""
        columns = zip(self.parameters, self.averages, self.squares, self.counts, strict=True)
        used = [(p, p.grad, *state) for p, *state in columns if p.grad is not None]
        # The first dimension is the run.
        for decay, chosen in (
            (self.config.weight_decay, [row for row in used if row[0].ndim > 2]),
            (0.0, [row for row in used if row[0].ndim <= 2]),
        ):
            if chosen:
                parameters, grads, averages, squares, steps = (list(part) for part in zip(*chosen, strict=True))
                adamw(
                    parameters, grads, averages, squares, [], steps, fused=True, amsgrad=False, maximize=False,
                    lr=rate, beta1=self.config.betas[0], beta2=self.config.betas[1], weight_decay=decay, eps=1e-8,
                )  # fmt: skip

    def select(self, parameters: Sequence[nn.Parameter], kept: Sequence[int]) -> None:
        index = torch.tensor(kept, dtype=torch.long, device=self.parameters[0].device)
        self.parameters = list(parameters)
        self.averages = [average[index] for average in self.averages]
        self.squares = [square[index] for square in self.squares]
