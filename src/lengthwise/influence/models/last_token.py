"""Restricts the MLP of a `transformers` model's last block to the last token, whose output alone is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn


def separable_mlp(inner: Any, losses: Callable[[], Float[ndarray, " N"]]) -> nn.Module | None:
    """The MLP of the last block, if ``losses()`` does not change when it computes the last token only."""
    mlp = last_mlp(inner)
    if mlp is None:
        return None
    full = losses()
    try:
        with at_last_token(mlp):
            cut = losses()
    # Some blocks use the output of their MLP in another way.
    except (TypeError, ValueError, RuntimeError, IndexError):
        return None
    return mlp if np.allclose(cut, full, rtol=1e-5, atol=1e-5) else None


def last_mlp(inner: Any) -> nn.Module | None:
    """The attribute ``mlp`` of the last block; None if the model has no unique list of blocks or no such attribute."""
    layers = getattr(inner.config, "num_hidden_layers", None)
    stacks = [part for part in inner.modules() if isinstance(part, nn.ModuleList) and len(part) == layers]
    found = getattr(stacks[0][-1], "mlp", None) if len(stacks) == 1 else None
    return found if isinstance(found, nn.Module) else None


@contextmanager
def at_last_token(mlp: nn.Module) -> Iterator[None]:
    """Make ``mlp`` map [B, T, D] to [B, 1, D], computed from the last token, while the context is active.

    The sum with the residual stream broadcasts, so the stream is correct at the last token only.
    """

    def cut(module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (inputs[0][:, -1:], *inputs[1:])

    handle = mlp.register_forward_pre_hook(cut)
    try:
        yield
    finally:
        handle.remove()
