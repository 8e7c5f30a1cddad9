"""Verdict against measurement, cell by cell: what is decided, and which way, by rules fixed before any training.

A cell is a task with a position system. Which of its configurations speaks for it depends on fits in distribution
only, never on long lengths.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

import lengthwise as lw

CUT = 0.70
"""Accuracy on the last bin from which on a system generalizes."""
SEARCHED = 12
"""Configurations at the full budget without a fit, after which a cell is "not fitted" instead of "not run"."""
FULL_STEPS = 30_000

FitStatus = Literal["fitted", "not fitted", "not run"]


class Agreement(TypedDict):
    """One row of the table of verdict against measurement, as ``table.json`` has it; bins are named ``"51-100"``."""

    task: str
    encoding: str
    predicted: str
    status: FitStatus
    test_set: str
    seeds: int
    fitted: int
    median: dict[str, float]
    """Accuracy by bin, the median of the fitted seeds."""
    standard: NotRequired[dict[str, float]]
    """The same on ordinary words, where ``median`` is that of adversarial ones."""
    right: bool | None
    tried: int
    """Configurations."""
    in_distribution: list[float]
    per_position: dict[str, float]
    commits: list[str]
    published: NotRequired[dict[str, float]]


def cell(
    task: str,
    encoding: str,
    predicted: str,
    results: Sequence[Mapping[str, Any]],
    *,
    searched: int = SEARCHED,
    full_steps: int = FULL_STEPS,
) -> Agreement:
    """One row of the table from the result files of a cell, of any configurations and seeds.

    The configuration with most fitted seeds speaks for the cell (on ties: the smaller, then the shorter one). A "no"
    needs two fitted seeds, a "yes" one. Without them the cell is "not fitted" after ``searched`` configurations of at
    least ``full_steps`` steps.
    """
    tried = configurations(results)
    needed = 2 if predicted == "no" else 1
    best = speaking(results)
    fitted = [result for result in best if result["fitted"] is True]
    full = [rows for rows in tried if _steps(rows) >= full_steps]
    status: FitStatus = "not run"
    if len(fitted) >= needed:
        status = "fitted"
    elif len(full) >= searched:
        status = "not fitted"
    adversarial = any(score.get("axes", {}).get("adversarial") for result in fitted for score in result["scores"])
    measured = fitted if status == "fitted" else []
    median = medians(measured, adversarial=adversarial)
    row: Agreement = {
        "task": task,
        "encoding": encoding,
        "predicted": predicted,
        "status": status,
        "test_set": _test_set(fitted, adversarial=adversarial),
        "seeds": len(best),
        "fitted": len(fitted),
        "median": median,
        "standard": medians(measured, adversarial=False),
        "right": right({"status": status, "predicted": predicted, "median": median}),
        "tried": len(tried),
        "in_distribution": [_rate(result["in_distribution"]) for result in best],
        "per_position": per_position(measured, adversarial=adversarial),
        "commits": sorted({str(result.get("commit", "unknown")) for result in best}),
    }
    if not (adversarial and measured):
        del row["standard"]
    return row


def configurations(results: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The results of a cell, one list per configuration."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for result in results:
        found.setdefault(lw.core.config.canonical_json(result["experiment"]), []).append(result)
    return list(found.values())


def speaking(results: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The results of the configuration that speaks for a cell; none if nothing was run."""
    return min(configurations(results), key=_rank, default=[])


def right(row: Mapping[str, Any]) -> bool | None:
    """Whether verdict and measurement are compatible; None if the cell is undecided (no fit, or no verdict)."""
    if row["status"] != "fitted" or row["predicted"] not in ("yes", "no") or not row["median"]:
        return None
    last = row["median"][max(row["median"], key=lambda name: int(name.partition("-")[0]))]
    return (last >= CUT) == (row["predicted"] == "yes")


def confusion(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Counts of cells: decided ones by verdict and outcome, and the undecided ones by status."""
    counts = {f"{answer} {way}": 0 for answer in ("yes", "no") for way in ("right", "wrong")}
    counts |= {"not fitted": 0, "not run": 0, "unknown": 0}
    for row in rows:
        if row["right"] is not None:
            counts[f"{row['predicted']} {'right' if row['right'] else 'wrong'}"] += 1
        else:
            counts["unknown" if row["status"] == "fitted" else row["status"]] += 1
    return counts


def medians(results: Sequence[Mapping[str, Any]], *, adversarial: bool) -> dict[str, float]:
    """Whole-answer accuracy by bin (``"51-100"``), the median over seeds."""
    return _by_bin(results, _rate, adversarial)


def per_position(results: Sequence[Mapping[str, Any]], *, adversarial: bool) -> dict[str, float]:
    """Share of scored tokens that are right after a right prefix, by bin, the median over seeds."""
    return _by_bin(results, lambda score: score["tokens"] / score["tokens_total"], adversarial)


def _rate(score: Mapping[str, Any]) -> float:
    return score["correct"]["exact_match"] / score["n"]


def _by_bin(results: Sequence[Mapping[str, Any]], rate: Any, adversarial: bool) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for result in results:
        for score in _bin_scores(result, adversarial):
            values.setdefault(f"{score['axes']['low']}-{score['axes']['high']}", []).append(rate(score))
    return {name: statistics.median(found) for name, found in values.items()}


def _bin_scores(result: Mapping[str, Any], adversarial: bool) -> list[Mapping[str, Any]]:
    scores = [score for score in result["scores"] if "low" in score.get("axes", {})]
    return [score for score in scores if bool(score["axes"].get("adversarial")) == adversarial]


def _test_set(results: Sequence[Mapping[str, Any]], *, adversarial: bool) -> str:
    """The names of the sets of the bins: one, or for a language with few short words two."""
    names = {str(score.get("test_set", "")): None for result in results for score in _bin_scores(result, adversarial)}
    return " and ".join(names)


def _rank(results: Sequence[Mapping[str, Any]]) -> tuple[int, int, int, str]:
    fitted = sum(result["fitted"] is True for result in results)
    experiment = results[0]["experiment"]
    size = int(results[0].get("parameters") or 0)
    return -fitted, size, _steps(results), lw.core.config.canonical_json(experiment)


def _steps(results: Sequence[Mapping[str, Any]]) -> int:
    return int(results[0]["experiment"]["training"].get("steps") or 0)


SEARCHED = (
    "Compatible after a search on these 25 tasks: the settings were changed while results of these cells were seen, "
    "and the verdict chooses among them. This table is no test of theory; README.md says what it can show."
)


def rebuild(folders: Sequence[Path], out: Path) -> tuple[list[Agreement], dict[str, int]]:
    """Write ``out/table.json`` from the results in and under ``folders``; the rows and the confusion counts.

    Raises `LengthwiseError` where a folder is missing or a result damaged, and where there is none.
    """
    from huang_table import build_table, summary

    for folder in folders:
        if not folder.is_dir():
            raise lw.LengthwiseError(f"no folder {folder}; make results with studies/huang/huang.py:huang")
    rows = build_table(folders)
    if all(row["status"] == "not run" for row in rows):
        named = ", ".join(map(str, folders))
        raise lw.LengthwiseError(f"no results of recipe huang in {named}; run studies/huang/huang.py:huang")
    lw.core.files.write_json(out / "table.json", rows)
    return rows, summary(rows)


def main(words: Sequence[str] | None = None) -> int:
    """Run the script; returns its exit code."""
    from huang_review import review

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="searched for results of recipe huang")
    parser.add_argument("--out", type=Path, default=Path("studies/huang/results/huang"), help="where the table goes")
    parser.add_argument("--review", action="store_true", help="print the tables of README.md instead")
    given = parser.parse_args(words)
    try:
        if given.review:
            for table in (table for folder in given.folders for table in review(folder)):
                print(f"## {table.title}\n\n{table.markdown()}\n")
            return 0
        rows, counts = rebuild(given.folders, given.out)
    except lw.LengthwiseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for row in rows:
        outcome = {True: "compatible", False: "not compatible", None: "undecided"}[row["right"]]
        print(f"{row['task']}, {row['encoding']}: theory {row['predicted']}, {row['status']}, {outcome}")
    print(", ".join(f"{name}: {count}" for name, count in counts.items()))
    print(SEARCHED)
    return 0


if __name__ == "__main__":
    sys.exit(main())
