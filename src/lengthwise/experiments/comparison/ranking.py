"""Ranks the systems of a comparison: how far each seed goes at 95 % exact match, and the median over seeds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lengthwise.core.result_file import RunResult
from lengthwise.experiments.comparison.plan import REACH, Plan
from lengthwise.experiments.comparison.stages import chosen_setting, read_tuning, results_of
from lengthwise.positions.schemes import SCHEMES
from lengthwise.positions.system import System


def reach(rates: dict[int, float]) -> int:
    """The longest tested length up to which every tested length has at least 95 % of its strings right; 0 if none.

    ``rates`` is the exact match by length.
    """
    longest = 0
    for length in sorted(rates):
        if rates[length] < REACH:
            break
        longest = length
    return longest


def rates_by_length(result: RunResult) -> dict[int, float]:
    """Exact match by length; where a length has several test layouts, that of the worst."""
    found: dict[int, float] = {}
    for score in result.scores:
        found[score.length] = min(score.rate(), found.get(score.length, 1.0))
    return found


def ranked(folder: Path, plan: Plan) -> list[dict[str, Any]]:
    """One row per system, best first, as plain JSON values.

    Systems are ordered by the median reach over all seeds, then by the number of fitted seeds, then by the mean exact
    match beyond the training lengths. A seed that did not fit in distribution counts as reach 0 and says so. Systems
    without a finished seed come last.
    """
    rows = [_row(folder, plan, system) for system in plan.systems]
    return sorted(rows, key=_order)


def _order(row: dict[str, Any]) -> tuple[bool, int, int, float]:
    return not row["seeds"], -row["reach"], -row["fitted"], -row["mean_beyond"]


def _row(folder: Path, plan: Plan, system: System) -> dict[str, Any]:
    results = results_of(folder, plan, system)
    setting = chosen_setting(folder, plan, system)
    tuned = read_tuning(folder, plan, system)
    seeds = [_seed(result) for result in results]
    return {
        "system": system.name,
        "scheme": system.scheme,
        "encoding": system.encoding,
        "setting": None if setting is None else setting.text,
        "tuning": None if tuned is None else tuned["in_distribution"],
        "seeds": seeds,
        "missing": plan.seeds - len(seeds),
        "diverged": tuned is not None and tuned["chosen"] is None,
        "fitted": sum(seed["fitted"] for seed in seeds),
        "reach": statistics.median_low([seed["reach"] for seed in seeds]) if seeds else 0,
        "mean_beyond": _mean_beyond(seeds, plan.max_length),
        "copy": None if setting is None else setting_to_copy(plan, system, setting_index=plan.grid.index(setting)),
    }


def _seed(result: RunResult) -> dict[str, Any]:
    rates = rates_by_length(result)
    return {
        "seed": result.seed,
        "fitted": result.fitted,
        "in_distribution": result.in_distribution.rate(),
        "reach": reach(rates) if result.fitted else 0,
        "exact_match": {str(length): rate for length, rate in sorted(rates.items())},
        "seconds": result.seconds,
    }


def _mean_beyond(seeds: Sequence[dict[str, Any]], trained: int) -> float:
    """Mean exact match of the fitted seeds at the lengths beyond training's; 0 without any."""
    rates = [
        rate
        for seed in seeds
        if seed["fitted"]
        for length, rate in seed["exact_match"].items()
        if int(length) > trained
    ]
    return statistics.fmean(rates) if rates else 0.0


def setting_to_copy(plan: Plan, system: System, *, setting_index: int) -> dict[str, Any]:
    """The arguments of ``lengthwise.Experiment`` that train this system again."""
    setting = plan.grid[setting_index]
    experiment = plan.experiment(system, setting)
    return {
        "task": plan.task,
        "scheme": SCHEMES.describe(experiment.scheme),
        "encoding": system.encoding,
        "max_length": plan.max_length,
        "test_lengths": list(plan.tests),
        "steps": plan.steps,
        "model": {"layers": setting.layers, "width": plan.width, "heads": plan.heads},
        "training": {"lr": setting.lr, "weight_decay": setting.weight_decay, "batch_size": plan.batch_size},
    }


def differ_in_every_seed(rows: Sequence[dict[str, Any]]) -> bool | None:
    """Whether the first fitted system goes farther than the last fitted one in every pair of seeds; None below two."""
    fitted = [row for row in rows if row["fitted"]]
    if len(fitted) < 2:
        return None
    best = [seed["reach"] for seed in fitted[0]["seeds"] if seed["fitted"]]
    worst = [seed["reach"] for seed in fitted[-1]["seeds"] if seed["fitted"]]
    return min(best) > max(worst)
