"""Addition under coupled ids with jumps in none, some or all sequences: what a jump is good for, and what it costs."""

from __future__ import annotations

import lengthwise as lw

SUMMARY = "addition with a jump of the coupled ids in none, 30 % or all of the training sequences"
LONGEST, TESTS = 10, (10, 20, 40, 70, 100)
SHARES = {"no jumps": 0.0, "jumps in 30 %": 0.3, "jumps in all": 1.0}


@lw.RECIPES.register("addition-jumps", SUMMARY)
def addition_jumps(preset: str) -> lw.Recipe:
    """Train on up to 10 digits, test on up to 100; the presets differ in seeds."""
    seeds = tuple(range({"quick": 2, "standard": 3, "full": 8}[preset]))
    model = lw.ModelConfig(layers=1, heads=4, width=128, log_length=4 * LONGEST)
    training = lw.TrainingConfig(
        max_length=LONGEST, steps=1500, batch_size=128, lr=2e-3, weight_decay=0.1, final_lr=0.0
    )  # fmt: skip
    evaluation = lw.EvaluationConfig(lengths=TESTS, samples=200)
    jobs = [
        lw.Job(
            name,
            lw.RunConfig(lw.tasks.addition.Addition(), scheme, lw.encodings.LearnedSpec(), model, training, evaluation),
            seeds,
        )
        for name, share in SHARES.items()
        for scheme in [lw.schemes.RareJump(max_position=110, jump=share)]
    ]
    return lw.Recipe("addition-jumps", SUMMARY, tuple(jobs))
