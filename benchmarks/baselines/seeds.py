"""Compares sixteen seeds trained as one stack with the same seeds trained one by one."""

from __future__ import annotations

from collections.abc import Iterator

from baselines.measure import BenchRow, Effort
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import LearnedSpec
from lengthwise.positions.schemes import Sequential
from lengthwise.tasks.counting import Majority
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import TaskSetup
from lengthwise.training.trainer import Trainer

SEEDS = 16


def rows(effort: Effort) -> Iterator[BenchRow]:
    """The two sizes of the smallest published models."""
    steps, longest, batch = (1, 10, 8) if effort.quick else (4, 50, 64)
    for layers, width in ((1, 16), (2, 64)):
        config = TrainingConfig(max_length=longest, batch_size=batch, stacked=True)
        setup = TaskSetup(
            Majority(letters=2), Sequential(max_position=153), LearnedSpec(), ModelConfig(layers, 1, width)
        )
        alone, together = Trainer(setup, config, [0]), Trainer(setup, config, range(SEEDS))

        def one(repeat: int, alone: Trainer = alone) -> None:
            for step in range(steps):
                alone.step(repeat * steps + step)

        def many(repeat: int, together: Trainer = together) -> None:
            for step in range(steps):
                together.step(repeat * steps + step)

        single, stacked = (seconds / steps for seconds in effort.seconds([one, many]))
        yield BenchRow.of(
            f"seeds: {SEEDS} of {layers} layer(s) × {width}", "ms/step", 1e3 * stacked, 1e3 * SEEDS * single,
            "one by one", f"{stacked / single:.1f} times one seed",
        )  # fmt: skip
