"""The models that a step runs: the whole stack at once, or a few of its runs at a time.

On a CPU a wide stack's passes over memory cost more than its operations' overhead once the activations of all runs no
longer fit the caches. Narrow models gain more from being together: their products are small.
"""

from __future__ import annotations

import copy

import torch
from torch import nn

from lengthwise.models.kernels.model import FlatTransformer
from lengthwise.models.stacked import TransformerStack

CACHE_NUMBERS = 1 << 22
"""Numbers of the residual stream up to which a CPU takes runs together, at widths of up to 64; fewer, if wider."""


def runs_at_once(runs: int, tokens: int, width: int, device: torch.device | str) -> int:
    """How many of ``runs`` to take together when each has so many ``tokens`` of this ``width``; all, on a GPU.

    A power of two where it is not all, so that a training meets few sizes. Why these: docs/performance.md.
    """
    limit = CACHE_NUMBERS * 64 // max(width, 64)
    if torch.device(device).type != "cpu" or runs * tokens * width <= limit:
        return runs
    size = 1
    while 2 * size * tokens * width <= limit:
        size *= 2
    return size


class StackParts:
    """Models of some runs each, whose weights are the stack's own memory and whose gradients are put together.

    Valid as long as the stack keeps its parameters: make new ones after `TransformerStack.select`.
    """

    def __init__(self, stack: TransformerStack) -> None:
        self.stack = stack
        self._made: dict[int, list[tuple[slice, FlatTransformer]]] = {}

    def of(self, size: int) -> list[tuple[slice, FlatTransformer]]:
        """Which runs, and their model, for parts of ``size`` runs (the last may have fewer)."""
        runs = self.stack.runs
        if size >= runs:
            return [(slice(0, runs), self.stack.model)]
        if size not in self._made:
            slices = [slice(start, min(start + size, runs)) for start in range(0, runs, size)]
            self._made[size] = [(part, self._share(part)) for part in slices]
        return self._made[size]

    def _share(self, runs: slice) -> FlatTransformer:
        own = {id(p): nn.Parameter(p.detach()[runs]) for p in self.stack.model.parameters()}
        return copy.deepcopy(self.stack.model, memo=own)

    def gather(self, size: int) -> None:
        """Give the stack's parameters the gradients of the parts, which forget theirs."""
        parts = self.of(size)
        if parts[0][1] is self.stack.model:
            return
        for whole, *pieces in zip(
            self.stack.model.parameters(), *[model.parameters() for _, model in parts], strict=True
        ):
            # Which weights a step uses depends on the layouts, which all runs share.
            found = [piece.grad for piece in pieces if piece.grad is not None]
            whole.grad = torch.cat(found) if found else None
            for piece in pieces:
                piece.grad = None
