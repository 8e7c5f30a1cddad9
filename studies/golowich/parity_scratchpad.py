"""Parity with a scratchpad and predicted positions (after Golowich et al. 2025, Figure 2), and without as control."""

from __future__ import annotations

import dataclasses

import lengthwise as lw

SUMMARY = "running parity with predicted, given and ordinary positions; dense parity without scratchpad as control"
LONGEST = 20
"""The most bits of a training string."""


@lw.RECIPES.register("parity-scratchpad", SUMMARY)
def parity_scratchpad(preset: str) -> lw.Recipe:
    """Train on up to 20 bits, test on up to 10 times as many."""
    quick = preset == "quick"
    lengths = (20, 40, 100, 200) if quick else (20, 30, 40, 60, 80, 100, 150, 200)
    room = 12 * LONGEST
    # The marked end gives every step a token to find at its place; to know the end by absence fails at 10 times.
    task = lw.tasks.parity.ParityScratchpad(end_mark=True)
    # Tables that start small: what is random in them at the start never vanishes and is seen at long lengths.
    std = 0.01
    model = lw.ModelConfig(layers=1, heads=4, width=256, log_length=2 * LONGEST, table_std=std)
    deeper = lw.ModelConfig(layers=2, heads=4, width=128, log_length=2 * LONGEST)
    training = lw.TrainingConfig(max_length=LONGEST, steps=1500 if quick else 3000)
    coupled_training = lw.TrainingConfig(max_length=LONGEST, steps=2000 if quick else 3000, lr=1e-3)
    evaluation = lw.EvaluationConfig(lengths=lengths)
    # Offsets and one jump per sequence, so that far ids are told apart too; within a chunk the next id is one more.
    ppc, coupled = (
        lw.RunConfig(task, scheme, lw.encodings.LearnedSpec(init_std=std), model, coupled_training, evaluation)
        for scheme in (
            lw.schemes.PredictiveCoupling(draw="pose", max_position=room),
            lw.schemes.Coupled(draw="pose", max_position=room),
        )
    )
    # The replacements are given longer to fit, ids for 4 times the training length, and are measured that far.
    reach = 4 * LONGEST
    tokens = 2 * reach + 5
    longer = dataclasses.replace(training, steps=1500 if quick else 10_000, stop_when_fitted=True)
    near = lw.EvaluationConfig(lengths=tuple(length for length in lengths if length <= reach))
    shift = lw.RunConfig(
        task,
        lw.schemes.Sequential(max_position=tokens, random_start=True),
        lw.encodings.LearnedSpec(),
        deeper,
        longer,
        near,
    )
    pose = lw.RunConfig(task, lw.schemes.PoSE(max_position=tokens), lw.encodings.RoPESpec(), deeper, longer, near)
    nope = lw.RunConfig(task, lw.schemes.Sequential(), lw.encodings.NoPESpec(), deeper, training, evaluation)
    everywhere = lw.EvaluationConfig(lengths=lengths, samples=2000, unfitted_too=True)
    control = lw.RunConfig(
        lw.tasks.parity.Parity(), lw.schemes.Sequential(), lw.encodings.NoPESpec(), deeper, training, everywhere
    )
    ppc_seeds, other_seeds = tuple(range(3 if quick else 5)), tuple(range(1 if quick else 3))
    return lw.Recipe(
        "parity-scratchpad",
        SUMMARY,
        (
            lw.Job("scratchpad + PPC", ppc, ppc_seeds, "the model predicts the coupled ids"),
            lw.Job("scratchpad + given ids", coupled, other_seeds, "the ceiling: coupled ids are given"),
            lw.Job("scratchpad + absolute shift", shift, other_seeds, "ordinary positions with a random start"),
            lw.Job("scratchpad + RoPE + PoSE", pose, other_seeds, "relative positions with a random skip"),
            lw.Job("scratchpad + NoPE", nope, other_seeds, "no positions"),
            lw.Job("no scratchpad (control)", control, other_seeds, "dense parity: expected to stay at chance"),
        ),
    )
