"""Accuracy by id finds the one id that a model has not learned, on short strings alone."""

from __future__ import annotations

from types import SimpleNamespace

import torch
from accuracy_by_id import accuracy_by_id
from torch import Tensor

from lengthwise.core.rng import stream
from lengthwise.positions.schemes import Coupled
from lengthwise.tasks import TASKS

BAD = 37


def right_but_for_one_id(input_ids: Tensor, position_ids: Tensor) -> SimpleNamespace:
    """Logits that are right for every next token but those with the id `BAD`."""
    following = torch.roll(input_ids, -1, dims=1)
    bad = torch.roll(position_ids[:, :, 0], -1, dims=1) == BAD
    tokens = torch.where(bad, torch.zeros_like(following), following)
    return SimpleNamespace(logits=torch.nn.functional.one_hot(tokens, 20).float())


def test_one_bad_id_is_found_on_short_strings():
    task, scheme = TASKS.build("addition"), Coupled(max_position=60, draw="contiguous")
    found = accuracy_by_id(right_but_for_one_id, task, scheme, 4, 500, stream(0, "test"))
    scored = int(task.batch(4, 1, stream(0)).scored.sum())
    assert sum(found.seen.values()) == 500 * scored
    assert set(found.wrong) == {BAD}
    assert found.worst(2)[0] == (BAD, 1.0)
    assert found.worst(2)[1][1] == 0.0
