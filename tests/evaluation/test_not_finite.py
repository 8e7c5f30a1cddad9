"""A logit that is NaN is counted and said: it is no wrong answer of the model."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lengthwise.core.result_file import Score
from lengthwise.core.rng import stream
from lengthwise.evaluation.accuracy import EvaluatedModel, score_layout
from lengthwise.models.build import build_model
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import Sequential
from lengthwise.tasks import TASKS


def test_logits_that_are_not_finite_are_counted_and_said() -> None:
    task, scheme = TASKS.build("copy"), Sequential(max_position=50)
    model = build_model(task, scheme, ENCODINGS.build("learned"), ModelConfig(layers=1, heads=2, width=16), seed=0)
    model.eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2 and len(parameter) in (50, 51):  # the table of positions
                parameter[12:] = float("nan")
    evaluated = EvaluatedModel(model, task, scheme)
    short = score_layout(evaluated, 3, None, 8, stream(0))
    assert short.not_finite == 0
    assert "not_finite" not in short.to_json()
    with pytest.warns(UserWarning, match="length 10: 8 of 8 strings have logits that are NaN or infinite"):
        long = score_layout(evaluated, 10, None, 8, stream(0))
    assert long.not_finite == 8
    assert long.correct["exact_match"] == 0
    assert (short + long).not_finite == 8
    assert Score.model_validate(long.to_json()).not_finite == 8
    assert np.isfinite(long.rate())
