"""The recipe of ``make demo``: variable assignment on at most 4 lines, with coupled positions and with plain ones."""

from __future__ import annotations

import dataclasses

from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.experiments.recipe import RECIPES, Job, Preset, Recipe
from lengthwise.experiments.run_config import RunConfig
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import LearnedSpec
from lengthwise.positions.schemes import PredictiveCoupling, Sequential
from lengthwise.tasks.variable_assignment import VariableAssignment
from lengthwise.training.config import TrainingConfig

SUMMARY = "variable assignment trained on 4 lines, in minutes on two cores"
TRAINED, LONGEST = 4, 80
"""Lines of a prompt: the most in training, and the longest test."""
COUPLED, PLAIN = "coupled (PPC)", "plain positions"


@RECIPES.register("demo", SUMMARY)
def demo(preset: Preset) -> Recipe:
    """The same systems at every preset: PPC, which fits in seconds, and absolute positions with a random start."""
    task = VariableAssignment(names=LONGEST + 20)
    std = 0.01
    coupled = RunConfig(
        task,
        PredictiveCoupling(draw="sorted", max_position=LONGEST + 16),
        LearnedSpec(init_std=std),
        ModelConfig(layers=1, heads=4, width=128, log_length=2 * TRAINED, table_std=std),
        TrainingConfig(max_length=TRAINED, steps=800, lr=2e-3),
        EvaluationConfig(lengths=(TRAINED, 8, 20, LONGEST)),
    )
    # At most 4 tokens a line and 4 more: ids for tests of 20 lines.
    plain = dataclasses.replace(
        coupled,
        scheme=Sequential(max_position=4 * 20 + 4, random_start=True),
        encoding=LearnedSpec(),
        model=ModelConfig(layers=2, heads=4, width=128, log_length=4 * TRAINED),
        training=TrainingConfig(max_length=TRAINED, steps=4000, lr=2e-3, stop_when_fitted=True),
        evaluation=EvaluationConfig(lengths=(TRAINED, 8, 20)),
    )
    return Recipe(
        "demo",
        SUMMARY,
        (
            Job(COUPLED, coupled, (0, 1), "tokens that belong together share a position id"),
            Job(PLAIN, plain, (0, 1), "tokens are numbered from left to right, from a random start"),
        ),
    )
