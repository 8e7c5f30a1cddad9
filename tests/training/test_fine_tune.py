"""Fine-tuning goes on from a trained model; DroPE drops positions first."""

from __future__ import annotations

import pytest
import torch

from lengthwise.core.errors import LengthwiseError
from lengthwise.models.config import ModelConfig
from lengthwise.models.transformer import Transformer
from lengthwise.nn import NoPE
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import Sequential
from lengthwise.tasks import TASKS
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import TaskSetup
from lengthwise.training.fine_tune import fine_tune, recalibrate
from oracle import some_inputs

TASK, SCHEME = TASKS.build("reverse"), Sequential(max_position=40)
SETUP = TaskSetup(TASK, SCHEME, ENCODINGS.build("rope"), ModelConfig(layers=2, heads=2, width=32, mlp_ratio=2))
SHORT = TrainingConfig(max_length=4, steps=40, batch_size=32, warmup=5, lr=3e-3)


def loss(model: Transformer) -> float:
    inputs = some_inputs(TASK, SCHEME, length=4, size=64, seed=5)
    with torch.no_grad():
        output = model(inputs.input_ids, inputs.position_ids, at=inputs.at)
    return torch.nn.functional.cross_entropy(output.logits.flatten(0, 1), inputs.targets.flatten()).item()


def test_fine_tuning_goes_on_from_the_weights_and_leaves_them() -> None:
    start = SETUP.build(0)
    before = {name: value.clone() for name, value in start.state_dict().items()}
    tuned = fine_tune(start, SETUP, SHORT)
    assert all(torch.equal(value, before[name]) for name, value in start.state_dict().items())
    assert loss(tuned) < loss(start) - 0.5
    again = fine_tune(tuned, SETUP, SHORT)
    assert loss(again) < loss(tuned), "from where it was, not from the start"


def test_drope_trains_a_model_without_positions_for_a_share_of_the_steps() -> None:
    trained = fine_tune(SETUP.build(0), SETUP, SHORT)
    dropped = recalibrate(trained, SETUP, SHORT, share=0.5)
    assert isinstance(dropped.encoding, NoPE)
    assert [name for name, _ in dropped.named_parameters()] == [name for name, _ in trained.named_parameters()]
    by_hand = fine_tune(
        recalibrate(trained, SETUP, TrainingConfig(max_length=4, steps=1, batch_size=32, lr=1e-12), share=1.0),
        SETUP,
        TrainingConfig(max_length=4, steps=20, batch_size=32, warmup=2, lr=3e-3),
    )
    assert loss(by_hand) == pytest.approx(loss(dropped), abs=1e-3)


def test_a_share_without_meaning_is_refused() -> None:
    with pytest.raises(LengthwiseError, match="share must be above 0 and at most 1"):
        recalibrate(SETUP.build(0), SETUP, SHORT, share=0.0)
