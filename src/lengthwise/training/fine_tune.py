"""Training that goes on from a trained model: fine-tuning, and self-improvement (Lee et al. 2025)."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Sequence

from lengthwise.core.errors import require
from lengthwise.models.config import ModelConfig
from lengthwise.models.extension import Model, drop_positions
from lengthwise.models.inputs import Inputs
from lengthwise.models.transformer import Transformer
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import Setup
from lengthwise.training.trainer import Trainer


@dataclasses.dataclass(frozen=True)
class Continued:
    """The data of another setup, and for each seed a trained model to go on from."""

    data: Setup
    starts: dict[int, Transformer]

    @property
    def model(self) -> ModelConfig:
        return next(iter(self.starts.values())).config

    def build(self, seed: int) -> Transformer:
        """A copy of the trained model of this seed."""
        return copy.deepcopy(self.starts[seed])

    def groups(self, config: TrainingConfig, seeds: Sequence[int], step: int) -> list[Inputs]:
        return self.data.groups(config, seeds, step)


def fine_tune(
    model: Model,
    data: Setup,
    config: TrainingConfig,
    *,
    seed: int = 0,
    on_step: Callable[[int, float], None] | None = None,
) -> Model:
    """A copy of ``model`` after ``config.steps`` steps on the sequences of ``data`` (a `TaskSetup`, for example).

    The optimizer starts anew; ``seed`` draws the sequences. The weights of ``model`` itself stay. Raises
    `TrainingDivergedError` if the loss becomes NaN or infinite.
    """
    trainer = Trainer(Continued(data, {seed: model}), config, [seed], on_step=on_step)
    (state,) = trainer.run()
    made = copy.deepcopy(model)
    made.load_state_dict(state.trained().state_dict())
    return made.eval()


def recalibrate(model: Model, data: Setup, config: TrainingConfig, *, share: float = 0.1, seed: int = 0) -> Model:
    """DroPE (Gelberg et al. 2025): drop the positions of a trained RoPE model, then train it for a short while.

    ``data`` and ``config`` are those of its training, at the trained context; ``share`` of the steps are taken. Raises
    `LengthwiseError` as `drop_positions` does, and unless 0 < share ≤ 1.
    """
    require(0 < share <= 1, f"share must be above 0 and at most 1, got {share}")
    steps = max(1, round(share * config.steps))
    short = dataclasses.replace(config, steps=steps, warmup=min(config.warmup, steps // 10))
    return fine_tune(drop_positions(model), data, short, seed=seed)
