"""Parity with one loop of a layer for each token, to twice the training length; unlooped layers beside it."""

from __future__ import annotations

import lengthwise as lw

SUMMARY = "parity with a loop for each token, to twice the training length, beside unlooped layers"
LONGEST, TESTS = 20, (10, 20, 25, 30, 35, 40, 50, 60)
SEEDS = (300, 301, 302)


@lw.RECIPES.register("looped-parity", SUMMARY)
def looped_parity(preset: str) -> lw.Recipe:
    """Train on up to 20 bits; quick has one seed. Settings of the looped layer were chosen on seed 100."""
    systems: dict[str, tuple[lw.encodings.EncodingSpec, lw.ModelConfig]] = {
        "one layer, looped by tokens": (lw.encodings.LocalBiasSpec(window=1), lw.ModelConfig(width=64, loops="tokens")),
        "one layer, looped 4 times": (lw.encodings.LocalBiasSpec(window=1), lw.ModelConfig(width=64, loops=4)),
        "4 layers, RoPE": (lw.encodings.RoPESpec(), lw.ModelConfig(layers=4, width=64)),
        "4 layers, NoPE": (lw.encodings.NoPESpec(), lw.ModelConfig(layers=4, width=64)),
    }
    training = lw.TrainingConfig(
        max_length=LONGEST, steps=5000, groups=1, lr=1e-3, warmup=200, final_lr=0.0, weight_decay=0.1, curriculum=0.5
    )  # fmt: skip
    evaluation = lw.EvaluationConfig(lengths=TESTS, samples=500)
    seeds = SEEDS[:1] if preset == "quick" else SEEDS
    jobs = (
        lw.Job(
            name,
            lw.RunConfig(lw.tasks.parity.Parity(), lw.schemes.Sequential(), encoding, model, training, evaluation),
            seeds,
        )
        for name, (encoding, model) in systems.items()
    )
    return lw.Recipe("looped-parity", SUMMARY, tuple(jobs))
