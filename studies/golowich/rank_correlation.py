"""Does accuracy on sparse parity fall with k? Spearman's rank correlation over fitted seeds, with an interval."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

import lengthwise as lw

DRAWS = 2000
"""Number of bootstrap draws of an interval."""


@dataclass(frozen=True)
class RankCorrelation:
    """One system at one length; ``length`` None stands for all lengths beyond training."""

    system: str
    k_train: int
    length: int | None
    ks: tuple[int, ...]
    fitted: int
    seeds: int
    accuracy: tuple[float, ...]
    """Median over the fitted seeds, for each k."""
    value: float | None
    """Spearman's ρ over all pairs of a fitted seed and a k, or None with the reason in ``note``."""
    low: float | None = None
    high: float | None = None
    each: tuple[float | None, ...] = ()
    """ρ within each fitted seed, which differences between seeds do not affect."""
    note: str = ""

    @property
    def text(self) -> str:
        """``-0.62 [-0.90, -0.11] (each seed -1.00 – -0.80)``, or the reason why it does not exist."""
        if self.value is None:
            return self.note
        if self.low is None:
            return f"{self.value:+.2f} (one seed)"
        each = " ".join("–" if value is None else f"{value:+.2f}" for value in self.each)
        return f"{self.value:+.2f} [{self.low:+.2f}, {self.high:+.2f}] (each seed {each})"


def interval(ks: Sequence[int], correct: ndarray, n: ndarray, *, draws: int = DRAWS) -> tuple[float, float]:
    """A 95 % bootstrap interval of ρ over S seeds with a test per k (both arrays ``[S, K]``), which resamples both.

    A draw with equal accuracies counts as 0. The draws are a function of the counts.
    """
    rng = lw.stream(0, "rank correlation", *correct.ravel().tolist(), *n.ravel().tolist())
    picks = rng.integers(len(correct), size=(draws, len(correct)))
    shares = rng.binomial(n[picks], correct[picks] / n[picks]) / n[picks]
    repeated = np.broadcast_to(np.asarray(ks), shares.shape)
    found = np.nan_to_num(lw.core.statistics.spearman(repeated.reshape(draws, -1), shares.reshape(draws, -1)))
    low, high = np.quantile(found, (0.025, 0.975))
    return float(low), float(high)


def rank_correlations(systems: Iterable[lw.report.summary.SystemSummary]) -> list[RankCorrelation]:
    """For each system with balanced tests: all lengths beyond training together, then each length."""
    rows = []
    for system in systems:
        task = system.experiment["task"]
        if task["name"] == "sparse-parity" and task.get("balanced"):
            rows += _of_system(system, int(task["k_max"]), [int(k) for k in task["k_test"]])
    return rows


def _of_system(system: lw.report.summary.SystemSummary, k_train: int, k_test: Sequence[int]) -> list[RankCorrelation]:
    ks = tuple(k for k in k_test if k <= k_train)
    counts = _counts(system)
    # A length below the largest k lacks some tests.
    lengths = sorted(length for length in {length for length, _ in counts} if all((length, k) in counts for k in ks))
    beyond = [length for length in lengths if length > system.max_length]
    head = (system.label, k_train)
    tail = (ks, len(system.fitted), len(system.results))
    if not system.fitted or not lengths:
        return [RankCorrelation(*head, None, *tail, accuracy=(), value=None, note="not fitted")]
    rows = []
    for length, together in ((None, beyond), *((length, [length]) for length in lengths)):
        if not together:
            continue
        right, strings = np.sum([np.stack([counts[n, k] for k in ks], axis=-1) for n in together], axis=0)
        rows.append(RankCorrelation(*head, length, *tail, **_measure(ks, right, strings)))
    return rows


def _counts(system: lw.report.summary.SystemSummary) -> dict[tuple[int, int], ndarray]:
    """By length and k, the numbers of right and of all strings for each fitted seed, on balanced tests."""
    found: Mapping[tuple[int, int], Any] = {
        (cell.length, dict(cell.axes)["k"]): np.array(
            [[s.correct["exact_match"] for s in cell.scores], [s.n for s in cell.scores]]
        )
        for cell in system.cells
        if dict(cell.axes).get("min_ones") == 0
    }
    for (length, k), pair in found.items():
        lw.core.errors.require(
            pair.shape[1] == len(system.fitted),
            f"{system.label}: length {length}, k {k} was measured for {pair.shape[1]} of {len(system.fitted)} seeds; "
            "run the missing ones again",
        )
    return dict(found)


def _measure(ks: Sequence[int], correct: ndarray, n: ndarray) -> dict[str, Any]:
    """Accuracies by k, and ρ with its interval or the reason why it does not exist."""
    shares = correct / n
    found: dict[str, Any] = {"accuracy": tuple(np.median(shares, axis=0).tolist()), "value": None}
    if len(ks) < 2:
        return {**found, "note": "only one k"}
    if np.ptp(shares) == 0:
        return {**found, "note": f"no effect: all accuracies are {shares.flat[0]:.3f}"}
    repeated = np.broadcast_to(np.asarray(ks), shares.shape)
    each = [None if np.isnan(value) else value for value in lw.core.statistics.spearman(repeated, shares).tolist()]
    low, high = interval(ks, correct, n) if len(shares) > 1 else (None, None)
    value = float(lw.core.statistics.spearman(repeated.ravel(), shares.ravel()))
    return {**found, "value": value, "low": low, "high": high, "each": tuple(each)}


def table(rows: Sequence[RankCorrelation]) -> lw.core.table.Table:
    """One line per row."""
    lines = []
    for row in rows:
        length = "beyond training" if row.length is None else str(row.length)
        ks, accuracy = " ".join(map(str, row.ks)), " ".join(f"{a:.3f}" for a in row.accuracy)
        lines.append((row.system, f"{row.fitted}/{row.seeds}", length, ks, accuracy or "-", row.text))
    return lw.core.table.Table(
        ("system", "fitted", "length", "k", "accuracy", "rank correlation with k [95 %]"), tuple(lines)
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """``python studies/golowich/rank_correlation.py FOLDER… [--json]``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="folders that are searched for result.json files")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    try:
        rows = rank_correlations(lw.report.summary.summarize(lw.report.summary.load(given.folders)))
        lw.core.errors.require(
            bool(rows), "no sparse parity with balanced tests there; run the recipe sparse-parity, preset standard"
        )
    except lw.LengthwiseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(lw.core.config.canonical_json([asdict(row) for row in rows]) if given.json else table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
