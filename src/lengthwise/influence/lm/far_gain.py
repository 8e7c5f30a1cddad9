"""What a language model gains from far tokens while it trains: loss by length of the context, and induction heads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.rng import stream
from lengthwise.influence.lm.held_out_loss import losses
from lengthwise.models.transformer import Transformer

CONTEXTS = (16, 32, 64, 96, 128, 192)
"""Tokens before a target that are visible, at least."""
TARGETS = 16
"""Targets at the end of each window, which have up to so many more tokens before them."""
PERIOD, ROWS = 80, 32
"""Random tokens that are repeated once, and how many such sequences measure induction."""

Watch = Callable[[Transformer], dict[str, Any]]


def far_gain(
    windows: Int[ndarray, "N L+1"], *, goal: float, recent: int = 64, block: int = 64, longest: int = CONTEXTS[-1]
) -> Watch:
    """A measurement for probes: the loss of the same targets by context, and what a block behind ``recent`` is worth.

    ``gain`` is the loss with ``recent`` tokens minus that with ``recent + block``, in nats per token. ``fitted`` says
    whether it is ``goal`` or more, which ends a training that stops when fitted.
    """
    contexts = [context for context in CONTEXTS if context <= min(longest, windows.shape[1] - 1 - TARGETS)]

    def watch(model: Transformer) -> dict[str, Any]:
        by_context = {
            context: float(losses(model, windows[:, -(context + TARGETS) - 1 :])[:, -TARGETS:].mean())
            for context in contexts
        }
        gain = by_context[recent] - by_context[recent + block]
        curve = {str(context): value for context, value in by_context.items()}
        return {"by_context": curve, "gain": gain, "induction": induction(model), "fitted": gain >= goal}

    return watch


@torch.inference_mode()
def induction(model: Transformer, period: int = PERIOD) -> list[list[float]]:
    """By layer and head, the attention that repeated random tokens pay to the token after their first occurrence.

    Random tokens can be predicted by copying only, and the copy is ``period`` - 1 tokens back, so a head that finds it
    by content has a large number here (Olsson et al. 2022, prefix matching).
    """
    vocabulary = model.table.num_embeddings
    drawn = stream(0, "induction").integers(vocabulary // 8, vocabulary, size=(ROWS, period))
    tokens = torch.from_numpy(np.concatenate([drawn, drawn], axis=1))
    ids = torch.arange(2 * period)[None, :, None].expand(ROWS, -1, -1)
    weights = model.attention(tokens, ids, slice(period, 2 * period))
    queries = torch.arange(period)
    found = weights[..., queries, queries + 1].mean(dim=(1, 3))
    return [[round(float(value), 4) for value in heads] for heads in found]


def curve(probes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The probes of a training as rows: step, gain, loss by context, and the strongest induction head of each layer."""
    return [
        {
            "step": probe["step"],
            "gain": round(probe["gain"], 4),
            "by_context": {name: round(value, 4) for name, value in probe["by_context"].items()},
            "induction": [max(heads) for heads in probe["induction"]],
        }
        for probe in probes
    ]
