"""Addition under NoPE, RoPE and coupled ids (after Cho et al. 2024): does locality carry over to long numbers?

Coupled ids make addition local. A table must still learn each id; a bias of near ids carries over to all of them.
"""

from __future__ import annotations

from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.experiments.recipe import RECIPES, Job, Preset, Recipe
from lengthwise.experiments.run_config import RunConfig
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import LearnedSpec, LocalBiasSpec, NoPESpec, RoPESpec
from lengthwise.positions.schemes import Coupled, Sequential
from lengthwise.tasks.addition import Addition
from lengthwise.training.config import TrainingConfig

SUMMARY = "NoPE, RoPE and coupled positions on addition, answer least significant digit first"
REPORTED_SEEDS = tuple(range(200, 208))
"""The seeds of a learned table in the preset ``standard``; its settings were chosen with seeds 100 and 101."""
LOCAL_SEEDS = tuple(range(300, 308))
"""The seeds of the local bias in the preset ``standard``; its settings were chosen with seeds 100 and 101."""


@RECIPES.register("addition", SUMMARY)
def addition(preset: Preset) -> Recipe:
    """Quick: train on up to 10 digits; standard: up to 30 and test up to 200; full: up to 20, with NoPE and RoPE."""
    if preset == "standard":
        jobs = (
            local_job("local bias, up to 30", 30, (30, 60, 100, 150, 200, 500)),
            local_job("local bias, up to 10", 10, (10, 20, 40, 70, 100, 500)),
            coupled_job("coupled, up to 30", 30, (30, 60, 100, 150, 200), room=210),
            coupled_job("coupled, up to 10", 10, (10, 20, 40, 70, 100), room=110),
        )
        return Recipe("addition", SUMMARY, jobs)
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

    def job(
        name: str, scheme: Coupled | Sequential, encoding: NoPESpec | RoPESpec | LearnedSpec, model: ModelConfig
    ) -> Job:
        return Job(name, RunConfig(task, scheme, encoding, model, training, evaluation), seeds)

    return Recipe(
        "addition",
        SUMMARY,
        (
            job("coupled", Coupled(max_position=room, draw="pose"), LearnedSpec(), coupled),
            job("RoPE", Sequential(), RoPESpec(), plain),
            job("NoPE", Sequential(), NoPESpec(), plain),
        ),
    )


def coupled_job(name: str, longest: int, tests: tuple[int, ...], *, room: int) -> Job:
    """One layer on numbers of up to ``longest`` digits, with ``room`` coupled ids and strong weight decay."""
    model = ModelConfig(layers=1, heads=4, width=128, log_length=4 * longest)
    training = TrainingConfig(
        max_length=longest, steps=3000, batch_size=128, lr=2e-3, weight_decay=0.1, final_lr=0.0
    )  # fmt: skip
    evaluation = EvaluationConfig(lengths=tests, samples=200)
    experiment = RunConfig(
        Addition(), Coupled(max_position=room, draw="pose"), LearnedSpec(), model, training, evaluation
    )  # fmt: skip
    return Job(name, experiment, REPORTED_SEEDS)


def local_job(name: str, longest: int, tests: tuple[int, ...]) -> Job:
    """One layer under a local bias of coupled ids; nothing in it depends on the length, log-length scaling included."""
    training = TrainingConfig(max_length=longest, steps=1500, batch_size=64, lr=2e-3, final_lr=0.0)
    evaluation = EvaluationConfig(lengths=tests, samples=200)
    scheme = Coupled(max_position=2 * max(tests), draw="contiguous")
    experiment = RunConfig(Addition(), scheme, LocalBiasSpec(), ModelConfig(), training, evaluation)
    return Job(name, experiment, LOCAL_SEEDS)
