"""Accuracy by position id: which ids a model has not learned, from strings of training lengths alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import lengthwise as lw

ROWS = 200
"""Strings of a batch."""


@dataclass(frozen=True)
class IdAccuracy:
    """How many predicted tokens had each id on the first level, and how many of them were wrong."""

    seen: Counter[int]
    wrong: Counter[int]

    def worst(self, count: int = 5) -> list[tuple[int, float]]:
        """The ids with the largest share of wrong tokens, and these shares."""
        shares = {position_id: self.wrong[position_id] / number for position_id, number in self.seen.items()}
        return sorted(shares.items(), key=lambda item: (-item[1], item[0]))[:count]


@torch.no_grad()
def accuracy_by_id(
    model: Callable[..., Any],
    task: lw.Task,
    scheme: lw.positions.schemes.PositionScheme,
    length: int,
    samples: int,
    rng: lw.core.rng.Rng,
) -> IdAccuracy:
    """Predict each token of ``samples`` strings of one length from the right tokens before it, under training ids.

    ``scheme`` gives the ids as in training, so that blocks start anywhere. Raises `LengthwiseError` if the task has no
    instances of this length.
    """
    seen, wrong = Counter[int](), Counter[int]()
    for start in range(0, samples, ROWS):
        batch = task.batch(length, min(ROWS, samples - start), rng)
        inputs = lw.models.inputs.Inputs.of(batch, scheme, task.levels, rng)
        predicted = model(inputs.input_ids, inputs.position_ids).logits.argmax(dim=-1).cpu().numpy()
        ids = inputs.position_ids[:, :, 0].numpy()
        for t in np.flatnonzero(batch.scored):
            seen.update(ids[:, t].tolist())
            wrong.update(ids[predicted[:, t - 1] != batch.input_ids[:, t], t].tolist())
    return IdAccuracy(seen, wrong)
