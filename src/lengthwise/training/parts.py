"""The models that a step runs: the whole stack at once, a few of its runs at a time, or each run alone.

On a CPU a wide stack's passes over memory cost more than its operations' overhead once the activations of all runs no
longer fit the caches. Narrow models gain more from being together: their products are small.
"""

from __future__ import annotations

import copy

import torch
from torch import nn

from lengthwise.models.stacked import TransformerStack
from lengthwise.models.transformer import Transformer

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

    A part of one run is an ordinary transformer. Valid as long as the stack keeps its parameters: make new ones after
    `TransformerStack.select`.
    """

    def __init__(self, stack: TransformerStack) -> None:
        self.stack = stack
        self._made: dict[int, list[tuple[slice, Transformer]]] = {}

    def of(self, size: int) -> list[tuple[slice, Transformer]]:
        """Which runs, and their model, for parts of ``size`` runs (the last may have fewer)."""
        runs = self.stack.runs
        size = min(size, runs)
        if size == runs > 1:
            return [(slice(0, runs), self.stack.model)]
        if size not in self._made:
            slices = [slice(start, min(start + size, runs)) for start in range(0, runs, size)]
            self._made[size] = [(part, self._share(part)) for part in slices]
        return self._made[size]

    def _share(self, runs: slice) -> Transformer:
        single = runs.stop - runs.start == 1
        template = self.stack.unstack(runs.start) if single else self.stack.model
        weights = zip(template.parameters(), self.stack.model.parameters(), strict=True)
        own = {id(p): nn.Parameter(whole.detach()[runs.start if single else runs]) for p, whole in weights}
        return copy.deepcopy(template, memo=own)

    def gather(self, size: int) -> None:
        """Give the stack's parameters the gradients of the parts, which forget theirs."""
        parts = self.of(size)
        if parts[0][1] is self.stack.model:
            return
        single = [part.stop - part.start == 1 for part, _ in parts]
        for whole, *pieces in zip(
            self.stack.model.parameters(), *[model.parameters() for _, model in parts], strict=True
        ):
            # Which weights a step uses depends on the layouts, which all runs share.
            found = [
                piece.grad[None] if one else piece.grad
                for piece, one in zip(pieces, single, strict=True)
                if piece.grad is not None
            ]
            whole.grad = None if not found else found[0] if len(found) == 1 else torch.cat(found)
            for piece in pieces:
                piece.grad = None
