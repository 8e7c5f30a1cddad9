"""The learning rate: warm-up to the top, then down to its share at the last step."""

from __future__ import annotations

import pytest

from lengthwise.training.config import TrainingConfig
from lengthwise.training.trainer import learning_rate

BASE = {"steps": 111, "warmup": 10, "lr": 1.0, "final_lr": 0.2}


@pytest.mark.parametrize(("decay", "half", "end"), [("cosine", 0.6, 0.2), ("linear", 0.6, 0.2), ("constant", 1.0, 1.0)])
def test_known_points(decay, half: float, end: float):
    config = TrainingConfig(**BASE, decay=decay)  # type: ignore[arg-type]
    assert learning_rate(config, 0) == pytest.approx(0.1)
    assert learning_rate(config, 9) == pytest.approx(1.0)
    assert learning_rate(config, 10) == pytest.approx(1.0)
    assert learning_rate(config, 60) == pytest.approx(half)
    assert learning_rate(config, 110) == pytest.approx(end)
    assert learning_rate(config, 500) == pytest.approx(end)


@pytest.mark.parametrize("decay", ["cosine", "linear", "constant"])
@pytest.mark.parametrize("warmup", [0, 1, 50, 110, 111, 200])
def test_it_rises_then_falls_and_is_never_zero(decay, warmup: int):
    config = TrainingConfig(**{**BASE, "warmup": warmup}, decay=decay)  # type: ignore[arg-type]
    rates = [learning_rate(config, step) for step in range(111)]
    assert all(0 < rate <= 1 for rate in rates)
    rising, falling = rates[:warmup], rates[warmup:]
    assert rising == sorted(rising)
    assert falling == sorted(falling, reverse=True)
