"""A logit that is NaN is counted and said: it is no wrong answer of the model."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from lengthwise.core.result_file import Score
from lengthwise.core.rng import stream
from lengthwise.evaluation import accuracy
from lengthwise.evaluation.accuracy import EvaluatedModel, score_layout
from lengthwise.experiments.blind.ladder import LADDER
from lengthwise.experiments.blind.run import measure
from lengthwise.forecast.probe import ProbeCell, ProbeSettings, probe
from lengthwise.models.build import build_model
from lengthwise.models.config import ModelConfig
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import Sequential
from lengthwise.tasks import TASKS, Task


def broken_beyond_12(task: Task, scheme: Sequential) -> Transformer:
    model = build_model(task, scheme, ENCODINGS.build("learned"), ModelConfig(layers=1, heads=2, width=16), seed=0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2 and len(parameter) in (50, 51):  # the table of positions
                parameter[12:] = float("nan")
    return model.eval()


def test_logits_that_are_not_finite_are_counted_and_said() -> None:
    task, scheme = TASKS.build("copy"), Sequential(max_position=50)
    evaluated = EvaluatedModel(broken_beyond_12(task, scheme), task, scheme)
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


def test_a_rung_of_the_ladder_says_so() -> None:
    task, scheme = TASKS.build("regex:(a|b)*b"), Sequential(max_position=50)
    batches = [task.batch(length, 4, stream(0)) for length in (5, 20)]
    with pytest.warns(UserWarning, match="lengths 5, 20: 4 of 8 strings have logits that are NaN or infinite"):
        found = measure(broken_beyond_12(task, scheme), scheme, batches, 0)
    assert found["not_finite"] == 4
    assert "not_finite" not in measure(broken_beyond_12(task, scheme), scheme, batches[:1], 0)


def test_a_probe_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    real = accuracy.judge
    monkeypatch.setattr(
        accuracy, "judge", lambda *given: dataclasses.replace(found := real(*given), not_finite=~found.not_finite)
    )
    rung = dataclasses.replace(LADDER[0], layers=1, width=8, heads=1, batch=4, steps=2)
    settings = ProbeSettings((rung,), (1,), 1, every=2, probe_words=4, fit_words=4, test_words=4)
    with pytest.warns(UserWarning, match="probe of lengths up to 8: .* strings have logits that are NaN"):
        probe(ProbeCell(TASKS.build("regex:(ab)*"), "nope", 8), settings=settings)
