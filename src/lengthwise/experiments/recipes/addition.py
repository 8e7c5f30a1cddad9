"""Addition under NoPE, RoPE and coupled ids (after Cho et al. 2024): does locality carry over to long numbers?"""

from __future__ import annotations

from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.experiments.experiment import Experiment
from lengthwise.experiments.recipe import RECIPES, Job, Preset, Recipe
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings.learned import Learned
from lengthwise.positions.encodings.nope import NoPE
from lengthwise.positions.encodings.rope import RoPE
from lengthwise.positions.schemes.coupled import Coupled
from lengthwise.positions.schemes.index_schemes import Sequential
from lengthwise.tasks.addition import Addition
from lengthwise.training.config import TrainingConfig

SUMMARY = "NoPE, RoPE and coupled positions on addition, answer least significant digit first"


@RECIPES.register("addition", SUMMARY)
def addition(preset: Preset) -> Recipe:
    """Train on up to 10 (20) digits, test on up to 10 times as many."""
    quick = preset == "quick"
    longest = 10 if quick else 20
    multiples = (1, 2, 4, 10) if quick else (1, 1.5, 2, 3, 4, 5, 10)
    evaluation = EvaluationConfig(lengths=tuple(int(longest * factor) for factor in multiples), samples=200)
    training = TrainingConfig(max_length=longest, steps=1500 if quick else 5000, batch_size=128, lr=2e-3)
    coupled = ModelConfig(layers=1, heads=4, width=128, log_length=4 * longest)
    plain = ModelConfig(layers=2 if quick else 3, heads=4, width=128, log_length=4 * longest)
    task = Addition()
    seeds = (0, 1, 2) if quick else (0, 1, 2, 3, 4)
    room = 16 * longest

    def job(name: str, scheme: Coupled | Sequential, encoding: NoPE | RoPE | Learned, model: ModelConfig) -> Job:
        return Job(name, Experiment(task, scheme, encoding, model, training, evaluation), seeds)

    return Recipe(
        "addition",
        SUMMARY,
        (
            job("coupled", Coupled(max_position=room, draw="pose"), Learned(), coupled),
            job("RoPE", Sequential(), RoPE(), plain),
            job("NoPE", Sequential(), NoPE(), plain),
        ),
    )
