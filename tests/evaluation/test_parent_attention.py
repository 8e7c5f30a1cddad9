"""Attention on parents against a loop over strings, and tasks for which it is not defined."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lengthwise.core.rng import stream
from lengthwise.evaluation.accuracy import EvaluatedModel
from lengthwise.evaluation.parent_attention import parent_attention
from lengthwise.models.build import build_model
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import NoPESpec
from lengthwise.positions.schemes import Sequential
from lengthwise.tasks import Task
from lengthwise.tasks.language import Language
from lengthwise.tasks.parity import SparseParity, SparseParityLayout
from lengthwise.tasks.variable_assignment import VariableAssignment

MODEL = ModelConfig(layers=2, heads=2, width=8)


def _evaluated(task: Task) -> EvaluatedModel:
    scheme = Sequential()
    return EvaluatedModel(build_model(task, scheme, NoPESpec(), MODEL, seed=0).eval(), task, scheme)


@pytest.mark.parametrize(
    ("task", "length"), [(SparseParity(k_max=3), 12), (VariableAssignment(names=9, slots=False, values=5), 4)]
)
def test_it_is_the_sum_over_parents(task: Task, length: int) -> None:
    evaluated, layout = _evaluated(task), task.layout(length, stream(1))
    found = parent_attention(evaluated, length, layout, 6, stream(2))
    assert found is not None
    batch = task.batch(length, 1, rng := stream(2), layout)  # the same stream: its first batch tells the layout only
    batch = task.batch(length, 6, rng, layout)
    ids = torch.arange(batch.tokens)[None, :, None].expand(6, -1, -1)
    with torch.inference_mode():
        weights = evaluated.model.attention(torch.from_numpy(batch.input_ids), ids, slice(0, batch.tokens)).numpy()
    mass, shares = [], []
    for row in range(6):
        for at in np.flatnonzero(batch.scored):
            parents = sorted({int(p) for p in batch.parents[row, at] if p >= 0})
            if parents:
                mass.append(weights[:, row, :, at - 1][..., parents].sum(-1))
                shares.append(len(parents) / at)
    assert np.allclose(found["mass"], np.mean(mass, axis=0), atol=2e-5)
    assert found["share"] == pytest.approx(np.mean(shares), abs=2e-5)
    assert found["n"] == 6


def test_attention_without_preference_gives_the_share() -> None:
    """With zero queries attention is uniform."""
    task = SparseParity(k_max=4)
    evaluated = _evaluated(task)
    with torch.no_grad():
        for block in evaluated.model.blocks:
            block.attention.qkv.weight[: MODEL.width] = 0
    found = parent_attention(evaluated, 30, SparseParityLayout(30, 4), 20, stream(0))
    assert found is not None
    assert np.allclose(found["mass"], found["share"], atol=1e-4)
    assert found["share"] == pytest.approx(4 / 32, abs=1e-4)


def test_a_task_without_parents_has_none() -> None:
    assert parent_attention(_evaluated(Language(language="(ab)*")), 4, None, 2, stream(0)) is None
