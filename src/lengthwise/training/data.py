"""What a training is about: which model with which weights, and the data of each step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from lengthwise.core.batch import Layout
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import Rng, stream
from lengthwise.models.build import build_model
from lengthwise.models.config import ModelConfig
from lengthwise.models.inputs import Inputs
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import EncodingSpec
from lengthwise.positions.schemes import PositionScheme
from lengthwise.tasks import Task
from lengthwise.training.config import TrainingConfig

BLOCK = 8
"""Seeds that draw their sequences together in stacked training."""


def training_lengths(task: Task, config: TrainingConfig, *, primed: bool = False) -> list[int]:
    """The lengths that training (or priming) draws from, uniformly; raises `LengthwiseError` if there is none."""
    low, high, setting = config.min_length, config.max_length, "training.min_length or training.max_length"
    if primed:
        low, high, setting = config.max_length + 1, config.priming_length, "training.priming_length"
    lengths = task.lengths(low, high)
    if not lengths:
        none = f"task {task.name!r} has no instances of lengths {low} to {high}"
        raise LengthwiseError(f"{none}; change {setting}{task.lifted(low)}")
    return lengths


def training_groups(task: Task, scheme: PositionScheme, config: TrainingConfig, seed: int, step: int) -> list[Inputs]:
    """The groups of one step: lengths, strings and position ids; each seed draws its own.

    With ``config.stacked`` the lengths and layouts are the same for all seeds; see `stacked_groups`.
    """
    if config.stacked:
        return stacked_groups(task, scheme, config, (seed,), step)
    layouts = stream(seed, "train", "layout", step)
    rng = stream(seed, "train", "data", step)
    result = []
    for layout in _layouts(task, config, step, layouts):
        batch = task.batch(layout.length, config.batch_size // config.groups, rng, layout)
        result.append(Inputs.of(batch, scheme, task.levels, rng))
    return result


def stacked_groups(
    task: Task, scheme: PositionScheme, config: TrainingConfig, seeds: Sequence[int], step: int
) -> list[Inputs]:
    """The groups of one step of a stack: the rows of ``seeds``, seed by seed, under a schedule that all seeds share.

    Seeds 8b to 8b + 7 draw their sequences in one go and own disjoint rows of what is drawn: rows are independent
    draws, so each seed has data of its own at an eighth of the cost. What a seed gets depends on no other seed.
    """
    schedule = stream(0, "train", "schedule", step)
    rows = config.batch_size // config.groups
    blocks = {seed // BLOCK: stream(seed // BLOCK, "train", "block", step) for seed in seeds}
    result = []
    for layout in _layouts(task, config, step, schedule):
        drawn = {
            block: Inputs.of(task.batch(layout.length, BLOCK * rows, rng, layout), scheme, task.levels, rng)
            for block, rng in blocks.items()
        }
        own = [(drawn[seed // BLOCK], slice(seed % BLOCK * rows, (seed % BLOCK + 1) * rows)) for seed in seeds]
        result.append(Inputs.gather(own))
    return result


def _layouts(task: Task, config: TrainingConfig, step: int, rng: Rng) -> Iterator[Layout]:
    lengths = training_lengths(task, config)
    if config.curriculum:
        share = min(1.0, (step + 1) / (config.curriculum * config.steps))
        lengths = lengths[: math.ceil(share * len(lengths))]
    for _ in range(config.groups):
        primed = config.priming and rng.random() < config.priming
        own = training_lengths(task, config, primed=True) if primed else lengths
        yield task.layout(own[int(rng.integers(len(own)))], rng)


@runtime_checkable
class Setup(Protocol):
    """The model and the data of a training, each a pure function of the seed (and the step)."""

    @property
    def model(self) -> ModelConfig: ...

    def build(self, seed: int) -> Transformer:
        """The model of one seed before its first step."""
        ...

    def groups(self, config: TrainingConfig, seeds: Sequence[int], step: int) -> list[Inputs]:
        """The data of one step, seed by seed, in host memory; several seeds are given only if ``config.stacked``."""
        ...


@dataclass(frozen=True)
class TaskSetup:
    """A task under a position scheme, and a transformer with an encoding."""

    task: Task
    scheme: PositionScheme
    encoding: EncodingSpec
    model: ModelConfig

    def build(self, seed: int) -> Transformer:
        return build_model(self.task, self.scheme, self.encoding, self.model, seed=seed)

    def groups(self, config: TrainingConfig, seeds: Sequence[int], step: int) -> list[Inputs]:
        if config.stacked:
            return stacked_groups(self.task, self.scheme, config, seeds, step)
        (seed,) = seeds
        return training_groups(self.task, self.scheme, config, seed, step)
