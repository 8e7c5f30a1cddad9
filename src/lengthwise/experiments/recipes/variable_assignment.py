"""Variable assignment with four systems (after Golowich et al. 2025, Figure 3; lengths and sizes are ours)."""

from __future__ import annotations

import dataclasses

from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.experiments.recipe import RECIPES, Job, Preset, Recipe
from lengthwise.experiments.run_config import RunConfig
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import LearnedSpec, RoPESpec
from lengthwise.positions.schemes import PoSE, PredictiveCoupling, Sequential
from lengthwise.tasks.variable_assignment import VariableAssignment
from lengthwise.training.config import TrainingConfig

SUMMARY = "predictive position coupling against absolute shift and RoPE + PoSE, with and without scratchpad"
TRAINED = 8
"""The most lines of a training prompt."""


@RECIPES.register("variable-assignment", SUMMARY)
def variable_assignment(preset: Preset) -> Recipe:
    """Train on prompts of at most 8 lines; PPC is tested on 20 times as many (``standard``: 50, ``full``: 125)."""
    quick, full = preset == "quick", preset == "full"
    # Names and ids for the longest test; more than that only slows training down.
    task = VariableAssignment(names=200 if quick else 1020 if full else 416)
    std = 0.01
    ppc = RunConfig(
        task,
        PredictiveCoupling(draw="sorted", max_position=192 if quick else 1088 if full else 448),
        LearnedSpec(init_std=std),
        ModelConfig(layers=1, heads=4, width=128 if quick else 256, log_length=2 * TRAINED, table_std=std),
        TrainingConfig(max_length=TRAINED, steps=1000 if quick else 6000 if full else 2000, lr=2e-3 if quick else 1e-3),
        EvaluationConfig(lengths=(8, 32, 160) if quick else (8, 16, 32, 80, 160, 400, *((1000,) if full else ()))),
    )
    # The replacements get ids for 20 times the training length as PPC does, and are measured to 4 times.
    tokens = 4 * 20 * TRAINED + 4
    replaced = EvaluationConfig(lengths=(8, 16, 32))
    shift = RunConfig(
        task,
        Sequential(max_position=tokens, random_start=True),
        LearnedSpec(),
        ModelConfig(layers=3, heads=4, width=128, log_length=4 * TRAINED),
        TrainingConfig(max_length=TRAINED, steps=4000 if quick else 6000, lr=1e-3),
        replaced,
    )
    # Without separators child and parent differ by the parity of their positions only, which a random skip hides: RoPE
    # + PoSE does not fit then. So `standard` gives it a separator behind every line, and ids for 160 such lines.
    relative = task if quick else dataclasses.replace(task, slots=False, separators=True, names=200)
    rope = RunConfig(
        relative,
        PoSE(max_position=tokens if quick else 6 * 20 * TRAINED + 4),
        RoPESpec(),
        ModelConfig(layers=3, heads=4, width=128, log_length=4 * TRAINED),
        TrainingConfig(
            max_length=TRAINED, steps=1600 if quick else 10_000, lr=1e-3 if quick else 2e-3, stop_when_fitted=True
        ),
        replaced if quick else EvaluationConfig(lengths=(8, 16, 32, 80, 160)),
    )
    # Sequences without a trace are shorter: more steps, so that each unfitted system gets at least 3 times PPC's time.
    answers_only = dataclasses.replace(
        rope,
        task=dataclasses.replace(relative, scratchpad=False, slots=False),
        training=dataclasses.replace(rope.training, steps=2600 if quick else 20_000),
    )
    other_seeds, ppc_seeds = (range(1), range(3)) if quick else (range(3), range(5))
    return Recipe(
        "variable-assignment",
        SUMMARY,
        (
            Job("scratchpad + PPC", ppc, tuple(ppc_seeds), "the model predicts the coupled ids"),
            Job("scratchpad + absolute shift", shift, tuple(other_seeds), "ordinary positions with a random start"),
            Job("scratchpad + RoPE + PoSE", rope, tuple(other_seeds), "relative positions with a random skip"),
            Job(
                "RoPE + PoSE, no scratchpad",
                answers_only,
                tuple(other_seeds),
                "the value at once, no intermediate steps",
            ),
        ),
    )
