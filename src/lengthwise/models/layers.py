"""The layers that hold a transformer's matrices: what `stacked` replaces to train many runs at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lengthwise.models.fixed_shapes import linear
from lengthwise.nn.parameters import Table

Part = tuple[Float[Tensor, "R E D"], Float[Tensor, "R E"] | None]
"""Some outputs of a linear layer: matrix and bias, with the run as their first axis."""


class Linear(nn.Linear):
    """A linear layer whose outputs may be asked for in parts."""

    def forward(self, input: Float[Tensor, "*rest D"]) -> Float[Tensor, "*rest E"]:
        """All outputs."""
        return linear(input, self.weight, self.bias)

    def whole(self) -> Part:
        """All outputs as one part."""
        return self.weight[None], None if self.bias is None else self.bias[None]

    def parts(self, sizes: Sequence[int]) -> Iterator[Part]:
        """The outputs in pieces of these sizes; multiply by `product`."""
        biases = [None] * len(sizes) if self.bias is None else self.bias[None].split(list(sizes), 1)
        yield from zip(self.weight[None].split(list(sizes), 1), biases, strict=True)


class TokenTable(Table):
    """Token embeddings that can also serve as the output head (tied)."""

    def scores(self, hidden: Float[Tensor, "B T D"]) -> Float[Tensor, "B T V"]:
        """The product of ``hidden`` with every token's vector."""
        return linear(hidden, self.weight, None)


def product(
    x: Float[Tensor, "RB *rest D"], weight: Float[Tensor, "R E D"], bias: Float[Tensor, "R E"] | None
) -> Float[Tensor, "RB *rest E"]:
    """Each run's rows times its own matrix: one batched product, plain for one run."""
    runs, outputs, inputs = weight.shape
    if runs == 1:
        return linear(x, weight[0], None if bias is None else bias[0])
    rows = x.reshape(runs, -1, inputs)
    result = rows @ weight.mT if bias is None else torch.baddbmm(bias[:, None], rows, weight.mT)
    return result.view(*x.shape[:-1], outputs)


def by_head(x: Float[Tensor, "RB H A d"], weight: Float[Tensor, "R H d E"]) -> Float[Tensor, "RB H A E"]:
    """Each head's rows times the head's own matrix."""
    rows = x.unflatten(0, (len(weight), -1)).transpose(1, 2).flatten(2, 3)
    return (rows @ weight).unflatten(2, (-1, x.shape[2])).transpose(1, 2).flatten(0, 1)


def take(x: Float[Tensor, "B T D"], at: Int[Tensor, " S"] | slice) -> Float[Tensor, "B S D"]:
    """The tokens ``at``; for indices, by the operation with the cheaper backward pass."""
    return x[:, at] if isinstance(at, slice) else x.index_select(1, at)


def with_taken(x: Float[Tensor, "B T D"], at: Int[Tensor, " S"] | slice) -> tuple[Tensor, Float[Tensor, "B S D"]]:
    """``x`` and its tokens ``at``; the gradient of the former, which must be nobody else's, takes up the latter's."""
    return _WithTaken.apply(x, at)  # type: ignore[return-value]


class _WithTaken(torch.autograd.Function):
    """One pass over the tokens' gradient less than a `take` beside another use of ``x``."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, at: Tensor | slice) -> tuple[Tensor, Tensor]:
        ctx.at = at
        return x.view_as(x), take(x, at)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        whole, taken = grads
        if isinstance(ctx.at, slice):
            whole[:, ctx.at] += taken
        else:
            whole.index_add_(1, ctx.at, taken)
        return whole, None
