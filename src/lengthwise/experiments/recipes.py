"""Recipes that a user runs as examples; those of published figures and of our own studies are in ``studies/``."""

from __future__ import annotations

import dataclasses

from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.experiments import influence as influence
from lengthwise.experiments.recipe import RECIPES, Job, Preset, Recipe
from lengthwise.experiments.run_config import RunConfig
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import LearnedSpec, LocalBiasSpec, NoPESpec, RoPESpec
from lengthwise.positions.schemes import Coupled, PoSE, PredictiveCoupling, Sequential
from lengthwise.tasks.addition import Addition
from lengthwise.tasks.variable_assignment import VariableAssignment
from lengthwise.training.config import TrainingConfig

ADDITION = "NoPE, RoPE and coupled positions on addition, answer least significant digit first"
REPORTED_SEEDS = tuple(range(200, 208))
"""The seeds of a learned table in the preset ``standard``; its settings were chosen with seeds 100 and 101."""
LOCAL_SEEDS = tuple(range(300, 308))
"""The seeds of the local bias in the preset ``standard``; its settings were chosen with seeds 100 and 101."""


@RECIPES.register("addition", ADDITION)
def addition(preset: Preset) -> Recipe:
    """Quick: train on up to 10 digits; standard: up to 30 and test up to 200; full: up to 20, with NoPE and RoPE."""
    if preset == "standard":
        jobs = (
            local_job("local bias, up to 30", 30, (30, 60, 100, 150, 200, 500)),
            local_job("local bias, up to 10", 10, (10, 20, 40, 70, 100, 500)),
            coupled_job("coupled, up to 30", 30, (30, 60, 100, 150, 200), room=210),
            coupled_job("coupled, up to 10", 10, (10, 20, 40, 70, 100), room=110),
        )
        return Recipe("addition", ADDITION, jobs)
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
        ADDITION,
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


DEMO = "variable assignment trained on 4 lines, in minutes on two cores"
DEMO_TRAINED, DEMO_LONGEST = 4, 80
"""Lines of a prompt: the most in training, and the longest test."""
COUPLED, PLAIN = "coupled (PPC)", "plain positions"


@RECIPES.register("demo", DEMO)
def demo(preset: Preset) -> Recipe:
    """The same systems at every preset: PPC, which fits in seconds, and absolute positions with a random start."""
    task = VariableAssignment(names=DEMO_LONGEST + 20)
    std = 0.01
    coupled = RunConfig(
        task,
        PredictiveCoupling(draw="sorted", max_position=DEMO_LONGEST + 16),
        LearnedSpec(init_std=std),
        ModelConfig(layers=1, heads=4, width=128, log_length=2 * DEMO_TRAINED, table_std=std),
        TrainingConfig(max_length=DEMO_TRAINED, steps=800, lr=2e-3),
        EvaluationConfig(lengths=(DEMO_TRAINED, 8, 20, DEMO_LONGEST)),
    )
    # At most 4 tokens a line and 4 more: ids for tests of 20 lines.
    plain = dataclasses.replace(
        coupled,
        scheme=Sequential(max_position=4 * 20 + 4, random_start=True),
        encoding=LearnedSpec(),
        model=ModelConfig(layers=2, heads=4, width=128, log_length=4 * DEMO_TRAINED),
        training=TrainingConfig(max_length=DEMO_TRAINED, steps=4000, lr=2e-3, stop_when_fitted=True),
        evaluation=EvaluationConfig(lengths=(DEMO_TRAINED, 8, 20)),
    )
    return Recipe(
        "demo",
        DEMO,
        (
            Job(COUPLED, coupled, (0, 1), "tokens that belong together share a position id"),
            Job(PLAIN, plain, (0, 1), "tokens are numbered from left to right, from a random start"),
        ),
    )


VARIABLE_ASSIGNMENT = "predictive position coupling against absolute shift and RoPE + PoSE, with and without scratchpad"
TRAINED = 8
"""The most lines of a training prompt."""


@RECIPES.register("variable-assignment", VARIABLE_ASSIGNMENT)
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
        VARIABLE_ASSIGNMENT,
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
