"""Position methods side by side on addition: Abacus up to its largest offset, index hints, and ids without places."""

from __future__ import annotations

import dataclasses

import lengthwise as lw

SUMMARY = "position methods on addition: Abacus, index hints, FIRE, NoPE, RoPE, randomized ids, looped layers"
LONGEST, OFFSET, TESTS = 10, 20, (10, 15, 20, 25, 28, 30, 32, 35, 40)
SEEDS = (300, 301, 302)
LAYERS = {"coupled ids, local bias": 1}
"""One hop suffices under coupled ids and a local bias; the others have two layers."""


@lw.RECIPES.register("addition-methods", SUMMARY)
def addition_methods(preset: str) -> lw.Recipe:
    """Train on up to 10 digits, test on up to 40; quick has one seed. No setting was chosen on these systems.

    The last system came after Abacus had not reached its largest offset: trained on longer numbers and for longer. A
    trial of 3,000 steps (seed 100, long numbers in view) had one bad id, 27.
    """
    task, hinted = lw.tasks.addition.Addition(), lw.tasks.addition.HintedAddition(hints=48)
    fire, rope = lw.encoding("fire"), lw.encoding("rope")
    systems: dict[str, tuple[lw.Task, lw.schemes.PositionScheme, lw.encodings.EncodingSpec, int]] = {
        "coupled ids, local bias": (
            task,
            lw.schemes.Coupled(max_position=64, draw="contiguous"),
            lw.encodings.LocalBiasSpec(),
            1,
        ),
        f"Abacus, offsets up to {OFFSET}": (
            task,
            lw.schemes.AbacusScheme(max_position=64, offset=OFFSET),
            lw.encodings.LearnedSpec(),
            1,
        ),
        "index hints": (hinted, lw.schemes.Sequential(), lw.encodings.NoPESpec(), 1),
        "FIRE": (task, lw.schemes.Sequential(), fire, 1),
        "NoPE": (task, lw.schemes.Sequential(), lw.encodings.NoPESpec(), 1),
        "RoPE": (task, lw.schemes.Sequential(), rope, 1),
        "randomized ids": (task, lw.schemes.Randomized(max_position=256), lw.encodings.LearnedSpec(), 1),
        "NoPE, looped 3 times": (task, lw.schemes.Sequential(), lw.encodings.NoPESpec(), 3),
    }
    training = lw.TrainingConfig(
        max_length=LONGEST, steps=4000, lr=1e-3, weight_decay=0.1, final_lr=0.0
    )  # fmt: skip
    evaluation = lw.EvaluationConfig(lengths=TESTS, samples=200)
    seeds = SEEDS[:1] if preset == "quick" else SEEDS
    jobs = []
    for name, (own, scheme, encoding, loops) in systems.items():
        model = lw.ModelConfig(
            layers=LAYERS.get(name, 2), loops=loops, log_length=None if encoding.local else 4 * LONGEST
        )  # fmt: skip
        jobs.append(lw.Job(name, lw.RunConfig(own, scheme, encoding, model, training, evaluation), seeds))
    longer = lw.RunConfig(
        task,
        lw.schemes.AbacusScheme(max_position=64, offset=10),
        lw.encodings.LearnedSpec(),
        lw.ModelConfig(layers=2, log_length=80),
        dataclasses.replace(training, max_length=20, steps=8000),
        dataclasses.replace(evaluation, lengths=(20, 22, 25, 28, 29, 30, 31, 32, 35, 40)),
    )
    jobs.append(lw.Job("Abacus, up to 20 digits, offsets up to 10", longer, seeds))
    return lw.Recipe("addition-methods", SUMMARY, tuple(jobs))
