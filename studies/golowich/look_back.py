"""Induction at distance t = 1, 2, 3 with and without positions (after Huang et al. 2025, appendix G.7).

Every t-th symbol of a string is copied, so each step looks t places back from a symbol found by content: a local
relation, for which learned positions (at random offsets) have a program and no positions have none.
"""

from __future__ import annotations

from fixed_beforehand import NEEDED, SEEDS, changed

import lengthwise as lw

SUMMARY = "every t-th symbol, t = 1, 2, 3: learned positions at random offsets against no positions"


@lw.RECIPES.register("look-back", SUMMARY)
def look_back(preset: str) -> lw.Recipe:
    """Train up to 10 (quick), 25 or 50 symbols, test up to three times as many; settings are fixed beforehand.

    Where fewer than four seeds fit, the same model is trained four times as long.
    """
    longest = {"quick": 10, "standard": 25, "full": 50}[preset]
    lengths = tuple(longest * factor for factor in (1, 2, 3))
    evaluation = lw.EvaluationConfig(lengths=lengths, samples=200)
    training = lw.TrainingConfig(
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
        task = lw.tasks.copying.LookBack(t=t, letters=lengths[-1])
        for name, scheme, encoding in (
            ("learned", lw.schemes.Sequential(max_position=room, random_start=True), lw.encodings.LearnedSpec()),
            ("NoPE", lw.schemes.Sequential(max_position=room), lw.encodings.NoPESpec()),
        ):
            model = lw.ModelConfig(layers=2, heads=1 if name == "learned" else 2, width=width, norm="layer", bias=True)
            claim = "a program with a window exists" if name == "learned" else "no program: no window without positions"
            first = lw.RunConfig(task, scheme, encoding, model, training, evaluation)
            longer = changed(first, model={}, training={"steps": 4 * training.steps})
            jobs.append(lw.Job(f"{name}, t = {t}", lw.Candidates((first, longer), NEEDED), SEEDS, claim))
    return lw.Recipe("look-back", SUMMARY, tuple(jobs))
