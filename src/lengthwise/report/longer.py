"""More training, where what is to be compared did not fit."""

from __future__ import annotations

from collections.abc import Sequence

from lengthwise.report.summary import MOST_NAMED, SystemSummary, some_of, step_text, steps_of

MANY_STEPS = 20_000
"""What did not fit after so many is not told to be trained for more."""
FAR_FROM_FIT = 0.5
"""Accuracy at training lengths below which steps alone may never do."""


def has_few_steps(system: SystemSummary) -> bool:
    """Whether twice the steps may be advised."""
    return (steps_of(system) or MANY_STEPS) < MANY_STEPS


def train_longer(
    who: Sequence[SystemSummary],
    lost: Sequence[SystemSummary],
    tells: str,
    order: Sequence[SystemSummary],
    seeds: int = 0,
) -> str:
    """To train all of ``order`` for twice the steps of what is ``lost``, where these are few; else ``who``, and why.

    With a second layer where one was far from a fit. They get a folder of their own, and so a table of equal steps.
    """
    few = len(order) <= MOST_NAMED and all(any(one is of for of in order) for one in who)
    these = list(order if few else who)
    steps = max(2 * max(map(steps_of, lost)), *map(steps_of, these))
    far = any(one.in_distribution.median < FAR_FROM_FIT for one in lost)
    deeper = far and all(one.experiment["model"]["layers"] == 1 for one in these)
    words = ["--set", f"training.steps={steps}", *["--set", "model.layers=2"] * deeper]
    every = "both" if len(these) == 2 else f"all {len(these)}"
    all_of = every if few and len(these) > 1 else some_of([one.label for one in these])
    do = f"train {all_of} for {steps:,} steps{' with 2 layers' * deeper}{f', {seeds} seeds each' * bool(seeds)}"
    runs = [(one, words) for one in these]
    return step_text(do, tells, runs, seeds=seeds, steps=2 * (1 + deeper), beside=f"{steps}-steps")
