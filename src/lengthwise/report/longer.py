"""More training, where what is to be compared did not fit."""

from __future__ import annotations

from collections.abc import Sequence

from lengthwise.measured.cells import SHORTEST_TRAINED
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
    to: int = 0,
) -> str:
    """To train all of ``order`` for twice the steps of what is ``lost``, where these are few; else ``who``, and why.

    With a second layer where one was far from a fit, and on strings ``to`` a length of the tests. They get a folder of
    their own, and so a table of equal training.
    """
    few = len(order) <= MOST_NAMED and all(any(one is of for of in order) for one in who)
    these = list(order if few else who)
    steps = max([2 * steps_of(one) for one in lost] + [steps_of(one) for one in these])
    far = any(one.in_distribution.median < FAR_FROM_FIT for one in lost)
    deeper = far and all(one.experiment["model"]["layers"] == 1 for one in these)
    tests = [n for n in these[0].experiment["evaluation"]["lengths"] if n >= to]
    words = ["--set", f"training.max_length={to}", "--set", f"evaluation.lengths={tests}".replace(" ", "")] * bool(to)
    words += ["--set", f"training.steps={steps}"] * bool(lost) + ["--set", "model.layers=2"] * deeper
    every = "both" if len(these) == 2 else f"all {len(these)}"
    all_of = every if few and len(these) > 1 else some_of([one.label for one in these])
    do = f"train {all_of}{f' on strings to {to}' * bool(to)}{f' for {steps:,} steps' * bool(lost)}"
    do += f"{' with 2 layers' * deeper}{f', {seeds} seeds each' * bool(seeds)}"
    runs, beside = [(one, words) for one in these], [f"to-{to}"] * bool(to) + [f"{steps}-steps"] * bool(lost)
    slower = (steps / (steps_of(these[0]) or steps or 1)) * (1 + deeper) * (to / these[0].max_length if to else 1)
    return step_text(do, tells, runs, seeds=seeds, steps=slower, beside="-".join(beside))


def train_on_longer(order: Sequence[SystemSummary], lost: Sequence[SystemSummary]) -> str:
    """To train on strings as long as those of measured tasks; empty where these are, and for languages.

    Up to the first test of such a length, so that tests and the number of ids stay.
    """
    first = order[0]
    tests = [n for n in first.experiment["evaluation"]["lengths"] if n >= SHORTEST_TRAINED]
    if len(tests) < 2 or first.experiment["task"]["name"] == "language":
        return ""
    if any(one.max_length >= SHORTEST_TRAINED for one in order):
        return ""
    none = f"no task of the studies here was trained to less than {SHORTEST_TRAINED}"
    tells = f"to {first.max_length} the rule may not be determined ({none})"
    return train_longer(order[:MOST_NAMED], lost, tells, order, to=min(tests))
