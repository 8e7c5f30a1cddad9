"""Training steps that a GPU replays from CUDA graphs: one graph for each length, forward and backward.

A stack of narrow models leaves a GPU waiting for the host, which launches hundreds of small kernels a step. A graph
launches them at once. Its shapes are fixed, so each group of a step is a graph of its own, and nothing is padded.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

import lengthwise as lw

TENSORS = ("input_ids", "position_ids", "targets", "target_position_ids", "allowed")
WARM_UP = 3
"""Eager passes before a graph is captured, in which libraries make their workspaces."""


@dataclass
class _Captured:
    """A graph with the inputs that it reads."""

    graph: torch.cuda.CUDAGraph
    inputs: lw.models.inputs.Inputs

    def replay(self, inputs: lw.models.inputs.Inputs) -> None:
        for name in TENSORS:
            held, given = getattr(self.inputs, name), getattr(inputs, name)
            if held is not None:
                # A copy from pinned memory doesn't wait for the graph before.
                held.copy_(given.pin_memory(), non_blocking=True)
        self.graph.replay()


class GraphedTrainer(lw.training.trainer.Trainer):
    """`Trainer` on a GPU, the same to rounding, for settings whose loss depends on the inputs alone.

    Raises `LengthwiseError` elsewhere, and for dropout, a regularizer, a progressive loss, bf16 or several ranks.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        config = self.config
        drawn = config.progressive or config.random_loops
        plain = not (config.regularizer or drawn or self.setup.model.dropout or self.ranks)
        lw.core.errors.require(
            plain and config.precision == "float32" and torch.device(self.device).type == "cuda",
            "captured training steps need a GPU and float32, and have no dropout, regularizer or progressive loss; use "
            "the plain trainer",
        )
        self._graphs: dict[tuple[int, int, bytes], _Captured] = {}
        self._of: Tensor | None = None
        """A parameter of the stack that the graphs belong to."""

    def step(self, step: int) -> Float[Tensor, " S"]:
        """One optimizer step; returns each run's loss in nats per scored token."""
        count = len(self.members)
        groups = [lw.models.inputs.Inputs.join([group], count) for group in self.groups(step)]
        total = sum(group.scored for group in groups) // count
        captured = [self._captured(group) for group in groups]
        torch._foreach_zero_([p.grad for p in self.stack.parameters()])  # type: ignore[misc]
        self._reported.zero_()
        self._share_of_token.fill_(1 / total)
        for graph, inputs in zip(captured, groups, strict=True):
            graph.replay(inputs)
        self.optimizer.clip(self.config.clip)
        self.optimizer.step(lw.training.trainer.learning_rate(self.config, step))
        return self._reported.clone()

    def _captured(self, inputs: lw.models.inputs.Inputs) -> _Captured:
        """The graph for such inputs."""
        first = next(self.stack.parameters())
        if self._of is not first:
            self._begin(first)
        assert inputs.groups is not None
        (group,) = inputs.groups
        assert isinstance(inputs.at, Tensor)
        shape = (group.rows, group.tokens, inputs.at.numpy().tobytes())
        if shape not in self._graphs:
            self._graphs[shape] = self._capture(inputs.to(self.device))
        return self._graphs[shape]

    def _begin(self, first: Tensor) -> None:
        """Forget the graphs of a stack that has other runs now."""
        self._graphs, self._of = {}, first
        self._pool = torch.cuda.graph_pool_handle()
        self._reported = torch.zeros(len(self.members), device=self.device)
        self._share_of_token = torch.zeros((), device=self.device)
        for parameter in self.stack.parameters():
            parameter.grad = torch.zeros_like(parameter)

    def _pass(self, inputs: lw.models.inputs.Inputs) -> None:
        scaled = lw.training.trainer.step_loss(self.stack.model, inputs, self.config, 0) * self._share_of_token
        scaled.sum().backward()
        self._reported.add_(scaled.detach())

    def _capture(self, inputs: lw.models.inputs.Inputs) -> _Captured:
        # A copy to the device may share memory with a batch that is on it already.
        held = inputs.to(self.device)
        for name in TENSORS:
            value = getattr(held, name)
            if value is not None:
                object.__setattr__(held, name, value.clone())
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                self._pass(held)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            self._pass(held)
        return _Captured(graph, held)
