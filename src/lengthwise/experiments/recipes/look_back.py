"""Induction at distance t = 1, 2, 3 with and without positions (after Huang et al. 2025, appendix G.7).

Every t-th symbol of a string is copied, so each step looks t places back from a symbol found by content: a local
relation, for which learned positions (at random offsets) have a program and no positions have none.
"""

from __future__ import annotations

from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.experiments.recipe import RECIPES, Job, Preset, Recipe
from lengthwise.experiments.recipes.fixed_beforehand import NEEDED, SEEDS, changed
from lengthwise.experiments.run_config import RunConfig
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import LearnedSpec, NoPESpec
from lengthwise.positions.schemes import Sequential
from lengthwise.tasks.copying import LookBack
from lengthwise.training.config import TrainingConfig

SUMMARY = "every t-th symbol, t = 1, 2, 3: learned positions at random offsets against no positions"


@RECIPES.register("look-back", SUMMARY)
def look_back(preset: Preset) -> Recipe:
    """Train up to 10 (quick), 25 or 50 symbols, test up to three times as many; settings are fixed beforehand.

    Where fewer than four seeds fit, the same model is trained four times as long.
    """
    longest = {"quick": 10, "standard": 25, "full": 50}[preset]
    lengths = tuple(longest * factor for factor in (1, 2, 3))
    evaluation = EvaluationConfig(lengths=lengths, samples=200)
    training = TrainingConfig(
        max_length=longest,
        min_length=2,
        steps={"quick": 2500, "standard": 8000, "full": 30_000}[preset],
        batch_size=64,
        lr=1e-3,
        warmup=200,
        decay="linear",
        stacked=True,
        stop_when_fitted=True,
    )
    width = {"quick": 64, "standard": 128, "full": 256}[preset]
    # The longest sequence: <bos>, fillers, symbols, <sep>, the copy of every symbol, <eos>.
    room = 2 * lengths[-1] + 8
    jobs = []
    for t in (1, 2, 3):
        task = LookBack(t=t, letters=lengths[-1])
        for name, scheme, encoding in (
            ("learned", Sequential(max_position=room, random_start=True), LearnedSpec()),
            ("NoPE", Sequential(max_position=room), NoPESpec()),
        ):
            model = ModelConfig(layers=2, heads=1 if name == "learned" else 2, width=width, norm="layer", bias=True)
            claim = "a program with a window exists" if name == "learned" else "no program: no window without positions"
            first = RunConfig(task, scheme, encoding, model, training, evaluation)
            longer = changed(first, model={}, training={"steps": 4 * training.steps})
            jobs.append(Job(f"{name}, t = {t}", first, SEEDS, claim, fallbacks=(longer,), needed=NEEDED))
    return Recipe("look-back", SUMMARY, tuple(jobs))
