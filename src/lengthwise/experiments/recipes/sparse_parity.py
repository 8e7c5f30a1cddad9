"""Sparse parity by K_train, k_test and length (after Golowich et al. 2025, Figure 1; lengths and sizes are ours)."""

from __future__ import annotations

from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.experiments.experiment import Experiment
from lengthwise.experiments.recipe import RECIPES, Preset, Recipe, System
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings.specs import NoPE
from lengthwise.positions.schemes.plain import Sequential
from lengthwise.tasks.sparse_parity import SparseParity
from lengthwise.training.config import TrainingConfig

SUMMARY = "parity of k marked bits: does what is learned up to K_train hold for longer strings and other k?"
LONGEST = 50
"""The most bits of a training string."""


@RECIPES.register("sparse-parity", SUMMARY)
def sparse_parity(preset: Preset) -> Recipe:
    """Train on up to 50 bits with 1 to K_train marked; test to 500 bits, for every k_test."""
    quick = preset == "quick"
    systems = []
    for k_train in (4,) if quick else (4, 6, 8, 10, 12):
        k_test = (1, 2, 3, 4, 5, 6) if quick else (2, 4, 6, 8, 10, 12)
        for span in (None,) if quick else (None, 16):
            experiment = Experiment(
                SparseParity(k_max=k_train, k_test=k_test, span=span),
                Sequential(),
                NoPE(),
                ModelConfig(layers=1, heads=4, width=64, bias=True, init="fan_in", log_length=LONGEST),
                TrainingConfig(
                    min_length=max(5, k_train),
                    max_length=LONGEST,
                    steps=1500 if k_train <= 6 else 4000,
                    batch_size=128,
                    weight_decay=0.0,
                ),
                EvaluationConfig(
                    lengths=(50, 100, 200, 500) if quick else (50, 75, 100, 150, 250, 500),
                    samples=500 if quick else 1000,
                    fit_samples=1000,
                    fit_threshold=0.99,
                    probe_samples=400,
                ),
            )
            where = "" if span is None else f", marked within {span}"
            systems.append(System(f"K_train = {k_train}{where}", experiment, tuple(range(5))))
    return Recipe("sparse-parity", SUMMARY, tuple(systems))
