"""The idealized learner on seven targets (after Huang et al. 2025): which settle, from which length, and R over n."""

from __future__ import annotations

import dataclasses
from typing import Any

import idealized

import lengthwise as lw

SUMMARY = "the idealized learner: program chosen at each n, and the regularizer over n (no training)"

_LENGTHS: dict[str, dict[int, int]] = {
    "quick": {1: 16, 2: 8, 3: 6},
    "standard": {1: 24, 2: 10, 3: 7},
    "full": {1: 40, 2: 12, 3: 8},
}
"""Letters to the length up to which all words are checked; n runs to twice that."""

_SIZES = {1: 3, 2: 3, 3: 2}
"""Letters to the size up to which all programs are in the class."""


@lw.study("idealized-learner", SUMMARY)
def idealized_learner(preset: str, seed: int, report: lw.experiments.events.Report) -> dict[str, Any]:
    """One row per target, with its trajectory."""

    classes: dict[int, idealized.HypothesisClass] = {}
    rows = []
    for done, target in enumerate(idealized.TARGETS):
        report(target.name, done, len(idealized.TARGETS))
        letters = len(target.alphabet)
        if letters not in classes:
            classes[letters] = idealized.HypothesisClass(
                letters, length=_LENGTHS[preset][letters], max_size=_SIZES[letters], periods=(2,), distances=(1,)
            )
        found = idealized.learn(target, classes[letters], seed=seed)
        rows.append(
            {**dataclasses.asdict(found), "as_expected": found.as_expected, "class_size": len(classes[letters])}
        )
    report("done", len(idealized.TARGETS), len(idealized.TARGETS))
    return {"rows": rows}
