"""Of the last block of a `transformers` model, its MLP at the last token only: nothing else reads what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn


def separable_mlp(inner: Any, losses: Callable[[], Float[ndarray, " N"]]) -> nn.Module | None:
    """The MLP of the last block, if ``losses()`` of the model stay the same when it reads the last token only."""
    mlp = last_mlp(inner)
    if mlp is None:
        return None
    full = losses()
    try:
        with at_last_token(mlp):
            cut = losses()
    # Blocks that do something else with what their MLP gives.
    except (TypeError, ValueError, RuntimeError, IndexError):
        return None
    return mlp if np.allclose(cut, full, rtol=1e-5, atol=1e-5) else None


def last_mlp(inner: Any) -> nn.Module | None:
    """The MLP of the last block; None where blocks are not a list of their own, or their MLP has another name."""
    layers = getattr(inner.config, "num_hidden_layers", None)
    stacks = [part for part in inner.modules() if isinstance(part, nn.ModuleList) and len(part) == layers]
    found = getattr(stacks[0][-1], "mlp", None) if len(stacks) == 1 else None
    return found if isinstance(found, nn.Module) else None


@contextmanager
def at_last_token(mlp: nn.Module) -> Iterator[None]:
    """Within the block, ``mlp`` reads [B, T, D] and gives [B, 1, D], of the last token.

    Added to the residual stream it spreads over all tokens, so the stream is right at the last one only.
    """

    def cut(module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        del module
        return (inputs[0][:, -1:], *inputs[1:])

    handle = mlp.register_forward_pre_hook(cut)
    try:
        yield
    finally:
        handle.remove()
