"""A recipe."""

from __future__ import annotations

from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.experiments.recipe import Job, Recipe
from lengthwise.experiments.run_config import RunConfig
from lengthwise.models.config import ModelConfig
from lengthwise.training.config import TrainingConfig
from lengthwise_example.components import Caesar, Even, HalfALiBi


def caesar_cipher(preset):
    """One small system; presets differ in their steps."""
    experiment = RunConfig(
        Caesar(),
        Even(),
        HalfALiBi(),
        ModelConfig(layers=1, heads=2, width=16),
        TrainingConfig(max_length=3, steps=4 if preset == "quick" else 400, batch_size=4, groups=2, probe_every=2),
        EvaluationConfig(lengths=(3, 6), samples=4, fit_samples=4, probe_samples=2, unfitted_too=True),
    )
    return Recipe("caesar-cipher", "a cipher under even ids", (Job("even ids", experiment, (0,)),))
