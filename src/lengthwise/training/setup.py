"""What a training is about: which model with which weights, and the data of each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from lengthwise.models.build import build_model
from lengthwise.models.config import ModelConfig
from lengthwise.models.inputs import Inputs
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import EncodingSpec
from lengthwise.positions.schemes import PositionScheme
from lengthwise.tasks import Task
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import stacked_groups, training_groups


@runtime_checkable
class Setup(Protocol):
    """The model and the data of a training, each a pure function of the seed (and the step)."""

    @property
    def model(self) -> ModelConfig:
        """The configuration of the model."""
        ...

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
        """The model of one seed; raises `LengthwiseError` as `build_model` does."""
        return build_model(self.task, self.scheme, self.encoding, self.model, seed=seed)

    def groups(self, config: TrainingConfig, seeds: Sequence[int], step: int) -> list[Inputs]:
        """Freshly drawn sequences of mixed lengths."""
        if config.stacked:
            return stacked_groups(self.task, self.scheme, config, seeds, step)
        (seed,) = seeds
        return training_groups(self.task, self.scheme, config, seed, step)
