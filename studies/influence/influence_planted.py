"""Tests whether selection rules find planted tokens, for three label functions g*; greedy search fails on one.

Each g* has two readers: exact inference, which tests the rules alone, and a small transformer trained under random key
masks. The relevant tokens S* lie in the masked block. Settings are ours.
"""

from __future__ import annotations

from typing import Any, Literal

import lengthwise as lw

SUMMARY = "influential tokens on planted text: greedy finds S* of a sum, stops early on a majority, fails on parity"

FOUND, RECOVERED, NULL = 0.95, 0.95, 0.05
"""What is asked of greedy on a sum: share of targets with exactly S*, R_k at the true k, most |R_k| in the null."""

LabelName = Literal["sum", "majority", "parity"]
KINDS: tuple[tuple[LabelName, int], ...] = (("sum", 3), ("majority", 3), ("parity", 2))
"""g* and its k. A transformer learns the parity of two bits in the time that there is, not that of three."""
EXPECTED = {"sum": "finds S*", "majority": "needs no S*", "parity": "misses S*"}
"""What greedy does: every token of a sum helps by itself; two equal bits of three settle a majority; one bit of a
parity gains nothing."""
_STEPS: dict[str, int] = {"quick": 4000, "standard": 6000, "full": 6000}
_TARGETS: dict[str, int] = {"quick": 200, "standard": 500, "full": 1000}
_WITHOUT_WEIGHTS = ("greedy", "one-shot", "surrogate", "random", "last-k")
"""The rules that use losses only."""


@lw.study("influence-planted", SUMMARY)
def influence_planted(preset: str, seed: int, report: lw.experiments.events.Report) -> dict[str, Any]:
    """One row per g* and reader.

    ``found`` by rule: the share of targets whose first k tokens are S*. ``R`` and ``null`` by k: greedy's R_k, and
    what it gains where the block is that of a text on other topics. ``rules`` holds R_k of all rules with intervals.
    """
    steps = _STEPS[preset]
    rows = [row for label, _ in KINDS for row in rows_of(label, steps, _TARGETS[preset], seed, report)]
    return {"steps": steps, "rows": rows}


def rows_of(
    label: LabelName, steps: int, targets: int, seed: int, report: lw.experiments.events.Report
) -> list[dict[str, Any]]:
    """The rows of one g*: exact inference, and a transformer trained for ``steps`` steps."""

    text = lw.influence.planted_text.PlantedText(label=label, k=dict(KINDS)[label])
    readers = (
        ("exact", lw.influence.models.ExactReader(text), _WITHOUT_WEIGHTS),
        (
            "trained",
            lw.influence.planted_check.train_planted(
                text, lw.influence.planted_check.PlantedTraining(steps=steps), seed, report
            ),
            lw.influence.measure.MeasureConfig.rules,
        ),
    )
    return [
        _row(
            label,
            reader,
            lw.influence.planted_check.check_planted(
                text, model, targets=targets, seed=seed, rules=rules, on_progress=report
            ),
        )
        for reader, model, rules in readers
    ]


def _row(label: str, reader: str, checked: dict[str, Any]) -> dict[str, Any]:
    recovered, null = checked.pop("recovered"), checked.pop("null")
    shares = {k: row["recovered"] for k, row in recovered["greedy"].items()}
    noise = {k: row["recovered"] for k, row in null.items()}
    true = str(checked["k"])
    return {
        "reader": reader,
        **checked,
        "R": shares,
        "null": noise,
        "expected": EXPECTED[label],
        "as_expected": as_expected(label, checked["found"]["greedy"], shares[true], noise[true]),
        "rules": [{"rule": name, "by_k": by_k} for name, by_k in recovered.items()],
    }


def as_expected(label: str, found: float, recovered: float | None, null: float | None) -> bool:
    """Whether greedy's numbers at the true k are what ``EXPECTED`` says."""
    if recovered is None or null is None or abs(null) > NULL:
        return False
    if label == "parity":
        return found < FOUND and recovered < RECOVERED
    return (found >= FOUND) == (label == "sum") and recovered >= RECOVERED
