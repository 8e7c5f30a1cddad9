"""How much attention a prediction pays to its parents, the tokens that it is a function of; by layer and head."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from lengthwise.core.batch import Layout
from lengthwise.core.rng import Rng
from lengthwise.evaluation.accuracy import EvaluatedModel, chunk_rows
from lengthwise.models.inputs import Inputs


@torch.inference_mode()
def parent_attention(
    evaluated: EvaluatedModel, length: int, layout: Layout | None, samples: int, rng: Rng
) -> dict[str, Any] | None:
    """Mean attention mass on parents over ``samples`` strings and their predicted tokens that have parents.

    ``mass`` is by layer and head, ``share`` the part of the visible tokens that are parents (what uniform attention
    would give). None for tasks whose scored tokens are not consecutive, or have no parents.
    """
    model, task = evaluated.model, evaluated.task
    scheme = evaluated.scheme.for_evaluation()
    total: np.ndarray | None = None
    share, count, done = 0.0, 0, 0
    while done < samples:
        now = layout or task.layout(length, rng)
        probe = task.batch(length, 1, rng, now)
        rows = min(samples - done, max(1, chunk_rows(model, probe.tokens) // max(1, int(probe.scored.sum()))))
        batch = task.batch(length, rows, rng, now)
        inputs = Inputs.of(batch, scheme, task.levels, rng).to(model.table.weight.device)
        if not isinstance(inputs.at, slice):
            return None
        parents = np.zeros((rows, batch.tokens, batch.tokens + 1), dtype=bool)
        np.put_along_axis(parents, batch.parents % (batch.tokens + 1), values=True, axis=2)
        # Place -1, which pads, has become the last one. The token at t is predicted at t - 1.
        on_parents = parents[:, batch.scored, :-1]
        has = on_parents.any(axis=2)
        if not has.any():
            return None
        weights = model.attention(inputs.input_ids, inputs.position_ids, inputs.at).double().cpu().numpy()
        mass = np.einsum("lbhat,bat->lh", weights, on_parents)
        total = mass if total is None else total + mass
        visible = np.flatnonzero(batch.scored)
        share += float((on_parents.sum(axis=2) / visible * has).sum())
        count += int(has.sum())
        done += rows
    assert total is not None
    return {"n": done, "mass": (total / count).round(5).tolist(), "share": round(share / count, 5)}
