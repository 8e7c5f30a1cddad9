"""A stack taken a few runs at a time, so that what one step keeps for its backward pass stays near the processor.

On a CPU a wide stack's passes over memory cost more than its operations' overhead once the activations of all runs no
longer fit the caches. Narrow models gain more from being together: their products are small.
"""

from __future__ import annotations

import copy

import torch
from torch import nn

from lengthwise.models.stacked import TransformerStack
from lengthwise.models.transformer import Transformer

NEAR = 1 << 22
"""Numbers of the residual stream up to which a CPU takes runs together, at widths of up to 64; fewer, if wider."""


def runs_at_once(runs: int, tokens: int, width: int, device: torch.device | str) -> int:
    """How many of ``runs`` to take together when each has so many ``tokens`` of this ``width``; all, on a GPU.

    A power of two where it is not all, so that a training meets few sizes. Why these: docs/performance.md.
    """
    near = NEAR * 64 // max(width, 64)
    if torch.device(device).type != "cpu" or runs * tokens * width <= near:
        return runs
    size = 1
    while 2 * size * tokens * width <= near:
        size *= 2
    return size


class StackParts:
    """Models of some runs each, whose weights are the stack's own memory and whose gradients are put together.

    Valid as long as the stack keeps its parameters: make new ones after `TransformerStack.select`.
    """

    def __init__(self, stack: TransformerStack) -> None:
        self.stack = stack
        self._made: dict[tuple[int, bool], list[tuple[slice, Transformer]]] = {}

    def of(self, size: int) -> list[tuple[slice, Transformer]]:
        """Which runs, and their model, for parts of ``size`` runs (the last may have fewer)."""
        runs, model = self.stack.runs, self.stack.model
        if size >= runs:
            return [(slice(0, runs), model)]
        key = size, model.training
        if key not in self._made:
            slices = [slice(start, min(start + size, runs)) for start in range(0, runs, size)]
            self._made[key] = [(part, self._share(part)) for part in slices]
        return self._made[key]

    def _share(self, runs: slice) -> Transformer:
        shared = {id(p): nn.Parameter(p.detach()[runs]) for p in self.stack.model.parameters()}
        return copy.deepcopy(self.stack.model, memo=shared)

    def gather(self, size: int) -> None:
        """Give the stack's parameters the gradients of the parts, which forget theirs."""
        parts = [list(model.parameters()) for _, model in self.of(size)]
        if len(parts) == 1:
            return
        for whole, *pieces in zip(self.stack.model.parameters(), *parts, strict=True):
            found = [piece.grad for piece in pieces if piece.grad is not None]
            if found:
                # A weight's use depends on the layout, which all runs share.
                whole.grad = torch.cat(found)
            for piece in pieces:
                piece.grad = None
