"""A stack taken a few runs at a time trains the same weights; parts share its memory."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import ENCODINGS, EncodingSpec, LearnedSpec
from lengthwise.positions.schemes import PredictiveCoupling
from lengthwise.tasks.addition import Addition
from lengthwise.training import trainer as part_models
from lengthwise.training import trainer as training_loop
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import TaskSetup
from lengthwise.training.trainer import StackParts, Trainer, runs_at_once

CONFIG = TrainingConfig(max_length=4, steps=4, batch_size=8, groups=2, warmup=2, probe_every=2, stacked=True)


def trainer(encoding: EncodingSpec | None = None, seeds: int = 3, **changes: object) -> Trainer:
    model = ModelConfig(layers=2, heads=2, width=16)
    scheme = PredictiveCoupling(max_position=30, draw="contiguous")
    config = dataclasses.replace(CONFIG, **changes)
    return Trainer(TaskSetup(Addition(), scheme, encoding or LearnedSpec(), model), config, range(seeds))


def test_sizes_are_powers_of_two_that_stay_near() -> None:
    near = part_models.CACHE_NUMBERS
    assert runs_at_once(16, near // 16 // 32, 32, "cpu") == 16
    assert runs_at_once(16, near // 5 // 64, 64, "cpu") == 4
    assert runs_at_once(16, near // 5 // 128, 128, "cpu") == 2  # twice as wide: half as many numbers
    assert runs_at_once(16, near * 3, 64, "cpu") == 1
    assert runs_at_once(16, near * 3, 64, "cuda") == 16


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("encoding", [LearnedSpec(), ENCODINGS.build("fire")])
@pytest.mark.parametrize("joined", [0, training_loop.JOINED])
def test_parts_train_the_same_weights(
    size: int, encoding: EncodingSpec, joined: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The regularizer is that of learned tables.
    weight = 0.1 if isinstance(encoding, LearnedSpec) else 0.0
    whole, cut = trainer(encoding, regularizer=weight), trainer(encoding, regularizer=weight)
    monkeypatch.setattr(training_loop, "JOINED", joined)
    for step in range(3):
        expected = whole.step(step)
        with monkeypatch.context() as patch:
            patch.setattr(training_loop, "runs_at_once", lambda *_: size)
            found = cut.step(step)
        assert torch.allclose(found, expected, atol=1e-5)
    for one, other in zip(whole.stack.parameters(), cut.stack.parameters(), strict=True):
        assert torch.allclose(one, other, atol=2e-4)


def test_parts_see_the_stacks_weights_and_follow_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    made = trainer()
    monkeypatch.setattr(training_loop, "runs_at_once", lambda runs, *_: min(runs, 2))
    made.step(0)
    for part, model in made.parts.of(2):
        for own, whole in zip(model.parameters(), made.stack.model.parameters(), strict=True):
            assert own.data_ptr() == whole[part].data_ptr()
            assert own.shape == whole[part].shape
            assert own.grad is None
    made._keep([0, 2])
    before = [parameter.detach().clone() for parameter in made.stack.parameters()]
    assert made.step(1).shape == (2,)
    assert any(not torch.equal(one, other) for one, other in zip(before, made.stack.parameters(), strict=True))


def test_gradients_are_put_together_by_run() -> None:
    stack = trainer().stack
    parts = StackParts(stack)
    for part, model in parts.of(2):
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, float(part.start + 1))
    parts.gather(2)
    for parameter in stack.parameters():
        assert parameter.grad is not None
        assert parameter.grad.shape == parameter.shape
        assert [float(run.mean()) for run in parameter.grad] == [1.0, 1.0, 3.0]
