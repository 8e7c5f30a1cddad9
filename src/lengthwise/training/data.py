"""Training data: a pure function of (seed, step)."""

from __future__ import annotations

import torch

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.models.inputs import Inputs
from lengthwise.positions.schemes import PositionScheme
from lengthwise.tasks import Task
from lengthwise.training.config import TrainingConfig


def training_lengths(task: Task, config: TrainingConfig) -> list[int]:
    """The lengths that training draws from, uniformly; raises `LengthwiseError` if there is none."""
    lengths = task.lengths(config.min_length, config.max_length)
    if not lengths:
        raise LengthwiseError(
            f"task {task.name!r} has no instances of lengths {config.min_length} to {config.max_length}; "
            "change training.min_length or training.max_length"
        )
    return lengths


def training_groups(
    task: Task,
    scheme: PositionScheme,
    config: TrainingConfig,
    seed: int,
    step: int,
    *,
    schedule: int | None = None,
    device: torch.device | str = "cpu",
) -> list[Inputs]:
    """The groups of one step: lengths, strings and position ids.

    Lengths and layouts come from a stream of their own, keyed by ``schedule`` (default: the seed): runs that train
    stacked share the schedule, while the strings and ids are each seed's own.
    """
    layouts = stream(seed if schedule is None else schedule, "train", "layout", step)
    rng = stream(seed, "train", "data", step)
    lengths = training_lengths(task, config)
    result = []
    for _ in range(config.groups):
        length = lengths[int(layouts.integers(len(lengths)))]
        layout = task.layout(length, layouts)
        batch = task.batch(length, config.batch_size // config.groups, rng, layout)
        result.append(Inputs.of(batch, scheme, task.levels, rng, device))
    return result
