"""From result files to decisions: which rung speaks for a cell, its score, and what was right, wrong or undecided."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from lengthwise.experiments.blind.study import BlindStudy, StudyEntry, cell_path, read_cell

CUT = 0.70
"""Score from which on a cell generalizes."""
CUTS = (0.5, 0.7, 0.9, 0.95)
DECIDING = "101-150"
"""The bin whose accuracy decides."""
BOOTSTRAP = 10_000

CellStatus = Literal["decided", "not fitted", "not run"]
WordSet = Literal["lower", "uniform", "adversarial"]
"""The lower accuracy of the two sets, or one of them."""


def cell_row(study: BlindStudy, table: str, entry: StudyEntry, encoding: str) -> dict[str, Any]:
    """One cell of the table from its result files; ``not run`` if its ladder has not been climbed to an end."""
    results = _results(study, table, entry, encoding)
    last = results[-1] if results else None
    ended = last is not None and (last["speaks"] or last["rung"] == len(study.ladder))
    status: CellStatus = "not run"
    if last is not None and ended:
        status = "decided" if last["speaks"] else "not fitted"
    seeds = [_seed_row(seed) for seed in last["seeds"]] if last is not None and ended else []
    score = cell_score(seeds) if status == "decided" else None
    predicted = entry.predicted[encoding]
    return {
        "language": entry.name,
        "expression": entry.expression,
        "encoding": encoding,
        "predicted": predicted,
        "status": status,
        "rung": last["rung"] if last is not None and ended else None,
        "fitted": last["fitted"] if last is not None and ended else 0,
        "score": score,
        "generalizes": None if score is None else score >= CUT,
        "right": is_right(predicted, score, CUT),
        "seeds": seeds,
        "early_fit": _early(results[0], study) if results else None,
        "seconds": round(sum(result["seconds"] for result in results), 1),
        "commits": sorted({str(result["commit"]) for result in results}),
    }


def is_right(predicted: str, score: float | None, cut: float) -> bool | None:
    """Whether prediction and measurement agree at a cut; None if the cell is undecided or nothing is predicted."""
    if score is None or predicted not in ("yes", "no"):
        return None
    return (score >= cut) == (predicted == "yes")


def cell_score(seeds: Sequence[Mapping[str, Any]], name: str = DECIDING, words: WordSet = "lower") -> float | None:
    """The median over fitted seeds of the accuracy in one bin; None where none of them was measured on such words."""
    values = [seed_score(seed, name, words) for seed in seeds if seed["fitted"]]
    found = [value for value in values if value is not None]
    return statistics.median(found) if found else None


def seed_score(seed: Mapping[str, Any], name: str = DECIDING, words: WordSet = "lower") -> float | None:
    """Accuracy of one seed in one bin."""
    rates = [found["rate"] for kind, found in seed["sets"].get(name, {}).items() if words == "lower" or kind == words]
    return min(rates, default=None)


def _results(study: BlindStudy, table: str, entry: StudyEntry, encoding: str) -> list[dict[str, Any]]:
    """The result files of a cell, rung by rung, up to the one that speaks."""
    results: list[dict[str, Any]] = []
    for number in range(1, len(study.ladder) + 1):
        result = read_cell(study, cell_path(study, table, entry.name, encoding, number))
        if result is None:
            break
        results.append(result)
        if result["speaks"]:
            break
    return results


def _seed_row(seed: Mapping[str, Any]) -> dict[str, Any]:
    """What the table shows of one seed: its fit, and rates by bin and set of words."""
    return {
        "seed": seed["seed"],
        "fit": seed["fit"],
        "fitted": seed["fitted"],
        "sets": {name: {kind: _rates(found) for kind, found in kinds.items()} for name, kinds in seed["sets"].items()},
    }


def _rates(found: Mapping[str, Any]) -> dict[str, Any]:
    quartiles = found["first_wrong"]
    return {
        "rate": found["right"] / found["n"],
        "by_symbol": round(found["symbols"] / found["symbols_total"], 5),
        "no_stop": found["no_stop"] / found["n"],
        "first_wrong": None if quartiles is None else quartiles[2],
    }


def _early(result: Mapping[str, Any], study: BlindStudy) -> dict[str, Any]:
    """Accuracy in distribution of each seed after half of the first rung's steps; 0 for one that had diverged."""
    half = str(study.ladder[0].steps // 2)
    return {"by_seed": [seed["fit_by_step"].get(half, 0.0) for seed in result["seeds"]]}
