"""The learning rate as a pure function of the step."""

from __future__ import annotations

import math

from lengthwise.training.config import TrainingConfig


def learning_rate(config: TrainingConfig, step: int) -> float:
    """Linear warm-up, then decay to ``final_lr · lr`` at the last step; ``step`` counts from 0."""
    if step < config.warmup:
        return config.lr * (step + 1) / config.warmup
    if config.decay == "constant":
        return config.lr
    progress = min(1.0, (step - config.warmup) / max(1, config.steps - 1 - config.warmup))
    shape = 0.5 * (1 + math.cos(math.pi * progress)) if config.decay == "cosine" else 1 - progress
    return config.lr * (config.final_lr + (1 - config.final_lr) * shape)
