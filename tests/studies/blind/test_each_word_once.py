"""A training that leaves out equal rows is the same training."""

from __future__ import annotations

import pytest
import torch

from lengthwise.experiments.blind.ladder import Rung, encoding_spec, model_config, position_scheme, training_config
from lengthwise.experiments.blind.run import EachWordOnce
from lengthwise.tasks.language import Language
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import Setup, TaskSetup
from lengthwise.training.trainer import Trainer

RUNG = Rung(layers=2, heads=2, width=16, lr=3e-3, steps=6, batch=16, norm="rms", weight_decay=0.1, log_length=True)
SEEDS = (200, 203)


def _setup(language: str, encoding: str) -> tuple[TaskSetup, TrainingConfig]:
    task = Language(language=language)
    spec, model = encoding_spec(RUNG, encoding), model_config(RUNG, encoding)
    return TaskSetup(task, position_scheme(task, encoding), spec, model), training_config(RUNG, encoding)


def _losses(setup: Setup, config: TrainingConfig) -> torch.Tensor:
    trainer = Trainer(setup, config, list(SEEDS))
    return torch.stack([trainer.step(step) for step in range(RUNG.steps)])


@pytest.mark.parametrize("language", ["(aa)*", "(ab)*"])
def test_one_row_of_each_word_trains_the_same_model(language: str) -> None:
    setup, config = _setup(language, "nope")
    rows, once = ([len(g.input_ids) for g in s.groups(config, SEEDS, 0)] for s in (setup, EachWordOnce(setup)))
    assert rows == [8] * 4
    assert once == [2] * 4
    torch.testing.assert_close(_losses(EachWordOnce(setup), config), _losses(setup, config), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("language", "encoding"), [("(a|b)*", "nope"), ("(aa)*", "ape")])
def test_steps_with_different_rows_are_left_alone(language: str, encoding: str) -> None:
    """Other words of a length, or other starts."""
    setup, config = _setup(language, encoding)
    for step in range(3):
        plain, once = (each.groups(config, SEEDS, step) for each in (setup, EachWordOnce(setup)))
        for one, other in zip(plain, once, strict=True):
            assert torch.equal(one.input_ids, other.input_ids)
            assert torch.equal(one.position_ids, other.position_ids) or encoding == "ape"
