"""Parity with one loop of a layer for each token, to twice the training length; unlooped layers beside it."""

from __future__ import annotations

from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.experiments.recipe import RECIPES, Job, Preset, Recipe
from lengthwise.experiments.run_config import RunConfig
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import EncodingSpec, LocalBiasSpec, NoPESpec, RoPESpec
from lengthwise.positions.schemes import Sequential
from lengthwise.tasks.parity import Parity
from lengthwise.training.config import TrainingConfig

SUMMARY = "parity with a loop for each token, to twice the training length, beside unlooped layers"
LONGEST, TESTS = 20, (10, 20, 25, 30, 35, 40, 50, 60)
SEEDS = (300, 301, 302)


@RECIPES.register("looped-parity", SUMMARY)
def looped_parity(preset: Preset) -> Recipe:
    """Train on up to 20 bits; quick has one seed. Settings of the looped layer were chosen on seed 100."""
    systems: dict[str, tuple[EncodingSpec, ModelConfig]] = {
        "one layer, looped by tokens": (LocalBiasSpec(window=1), ModelConfig(width=64, loops="tokens")),
        "one layer, looped 4 times": (LocalBiasSpec(window=1), ModelConfig(width=64, loops=4)),
        "4 layers, RoPE": (RoPESpec(), ModelConfig(layers=4, width=64)),
        "4 layers, NoPE": (NoPESpec(), ModelConfig(layers=4, width=64)),
    }
    training = TrainingConfig(
        max_length=LONGEST, steps=5000, groups=1, lr=1e-3, warmup=200, final_lr=0.0, weight_decay=0.1, curriculum=0.5
    )  # fmt: skip
    evaluation = EvaluationConfig(lengths=TESTS, samples=500)
    seeds = SEEDS[:1] if preset == "quick" else SEEDS
    jobs = (
        Job(name, RunConfig(Parity(), Sequential(), encoding, model, training, evaluation), seeds)
        for name, (encoding, model) in systems.items()
    )
    return Recipe("looped-parity", SUMMARY, tuple(jobs))
