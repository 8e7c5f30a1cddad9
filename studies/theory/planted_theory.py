"""Planted correlations: error against length and against k, for exact learners (after Golowich et al. 2025).

No training: a learner is the set of all heads without error on its training strings, judged by random ones among these.
What is shown is what the training strings leave open. Settings are ours.
"""

from __future__ import annotations

from typing import Any

import curves

import lengthwise as lw

SUMMARY = "exact learners on planted correlations: local, non-local, coupled, PoSE-covered; error over length and k"

_REPEATS: dict[str, int] = {"quick": 5, "standard": 10, "full": 20}
"""Independent draws of training strings, heads and test strings."""
_LENGTHS: dict[str, tuple[int, ...]] = {
    "quick": (16, 20, 24, 32, 48, 64, 96),
    "standard": (16, 20, 24, 32, 48, 64, 96, 128),
    "full": (16, 20, 24, 32, 48, 64, 96, 128),
}
_KS = (1, 2, 3, 4)
_GROWTH: dict[str, tuple[int, ...]] = {
    "quick": (8, 16, 32, 64, 128),
    "standard": (8, 16, 32, 64, 128, 256),
    "full": (8, 16, 32, 64, 128, 256),
}
_STRINGS = (100, 300, 1000, 3000, 10_000)

TRAINED = (10, 16)
"""Training lengths of the first figure."""
EXACT = ("local", "non-local with PoSE", "far with coupling")
"""Learners that theory says stay exact: every tuple type of long strings is seen in short ones."""


@lw.study("planted-theory", SUMMARY)
def planted_theory(preset: str, seed: int, report: lw.experiments.events.Report) -> dict[str, Any]:
    """Rows of three kinds (``figure``): ``length``, ``k``, and ``growth`` (a head with a small error).

    ``error`` by length, all repeats pooled; in the same order ``spread`` (smallest and largest of the repeats) and
    ``settled``, the share of strings on which every head without training error is right. ``unseen`` is the largest
    number of table entries that a repeat left open. In ``growth``, ``error`` is the mean mass off the label, with
    ``heuristic`` and ``bound`` (Theorem B) beside it.
    """

    repeats = range(seed * 1000, seed * 1000 + _REPEATS[preset])
    rows: list[dict[str, Any]] = []
    total = len(curves.LEARNERS) + 2
    for done, learner in enumerate(curves.LEARNERS):
        report(f"{learner} over length", done, total)
        found = [
            curves.error_against_length(
                learners=(learner,), train_lengths=TRAINED, test_lengths=_LENGTHS[preset], seed=draw
            )[0]
            for draw in repeats
        ]
        row = _row("length", found)
        exact = row["error"][str(_LENGTHS[preset][-1])] == 0
        expected = learner in EXACT
        rows.append({**row, "expected": "exact" if expected else "fails", "as_expected": exact == expected})
    report("error over k", total - 2, total)
    by_size: dict[tuple[int, int], list[Any]] = {}
    for draw in repeats:
        for curve in curves.error_against_k(_KS, train_strings=_STRINGS, seed=draw):
            by_size.setdefault((curve.k, curve.trained_on), []).append(curve)
    for found in by_size.values():
        row = _row("k", found)
        # Theory speaks once every type has been seen; before that, nothing is promised.
        promised = row["unseen"] == 0
        exact = all(error == 0 for error in row["error"].values())
        rows.append({**row, "expected": "exact" if promised else "-", "as_expected": exact or not promised})
    report("growth of a small error", total - 1, total)
    rows += _growth(preset, len(repeats))
    report("done", total, total)
    return {"trained": list(TRAINED), "repeats": len(repeats), "rows": rows}


def _row(figure: str, curves: list[Any]) -> dict[str, Any]:
    """Counts of all repeats of one learner, pooled."""
    first = curves[0]
    error, spread, settled = {}, [], []
    for i, point in enumerate(first.points):
        points = [curve.points[i] for curve in curves]
        errors = [p.error for p in points]
        error[str(point.length)] = sum(p.wrong for p in points) / sum(p.strings * p.heads for p in points)
        spread.append([min(errors), max(errors)])
        settled.append(sum(p.settled for p in points) / sum(p.strings for p in points))
    return {
        "figure": figure,
        "learner": first.learner,
        "k": first.k,
        "trained_on": first.trained_on,
        "unseen": max(curve.unseen for curve in curves),
        "error": error,
        "spread": spread,
        "settled": settled,
        "heuristic": [],
        "bound": [],
        "slope": None,
    }


def _growth(preset: str, seeds: int) -> list[dict[str, Any]]:
    """One row per k: the mean error of gradient-trained local heads beside the heuristic and Theorem B's bound."""

    lengths = _GROWTH[preset]
    by_k: dict[int, list[Any]] = {}
    for curve in curves.error_growth(ks=(1, 2, 3), test_lengths=lengths, seeds=seeds):
        by_k.setdefault(curve.k, []).append(curve)
    rows = []
    for k, of_k in by_k.items():
        points = {n: [curve.points[i] for curve in of_k] for i, n in enumerate(lengths)}
        slope = sum(curve.exponent for curve in of_k) / len(of_k)
        below = all(p.largest_error <= p.bound for curve in of_k for p in curve.points)
        rows.append(
            {
                "figure": "growth",
                "learner": "local, by gradient",
                "k": k,
                "trained_on": None,
                "unseen": None,
                "error": {str(n): _mean([p.mean_error for p in ps]) for n, ps in points.items()},
                "spread": [[min(p.mean_error for p in ps), max(p.mean_error for p in ps)] for ps in points.values()],
                "settled": [],
                "heuristic": [_mean([p.heuristic for p in ps]) for ps in points.values()],
                "bound": [_mean([p.bound for p in ps]) for ps in points.values()],
                "expected": "slope near 1, below the bound",
                "slope": slope,
                "as_expected": below and 0.7 < slope < 1.2,
            }
        )
    return rows


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
