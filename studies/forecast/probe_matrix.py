"""Is the probe right about tasks with answers? Sixty cells of the method matrix, none of which chose it.

``python studies/forecast/probe_matrix.py --work DIR --minutes M`` probes what is missing, one file a cell; the same
command goes on. `tables` are those of the page: the AUC of the probe for "at four times the training length, 0.95 of
the strings".

Fixed before the first probe: the cells (each of the twelve tasks under five systems), the budget (the first rung alone,
2,500 steps, three seeds, trained to 4 and tested on 5 to 8, where the matrix trained to 8), and the score: the median
accuracy at 7 and 8 of the fitted seeds; below all of these, seeds that do not fit, by their median fit.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lengthwise as lw

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "results" / "forecast" / "probe-matrix"
SYSTEMS = ("nope", "random-start+learned", "sequential+rope", "sequential+alibi")
PLACES = ("coupled+learned", "predictive-coupling+learned")
"""The fifth system: ids by places, of which a task has one or the other in the matrix."""
TIMES, HELD = 4, 0.95
SETTINGS = dataclasses.replace(lw.forecast.probe.SETTINGS, ladder=lw.forecast.probe.SETTINGS.ladder[:1])


def cells() -> list[lw.measured.MeasuredCell]:
    """The sixty cells, task by task."""
    found = [cell for cell in lw.measured.cells() if cell.study == "method-matrix"]
    named = {cell.system: cell for cell in found}
    tasks = dict.fromkeys(cell.system.rpartition(", ")[0] for cell in found)
    chosen = []
    for task in tasks:
        fifth = next(name for name in PLACES if f"{task}, {name}" in named)
        chosen += [named[f"{task}, {name}"] for name in (*SYSTEMS, fifth)]
    return chosen


def probed(cell: lw.measured.MeasuredCell) -> lw.forecast.probe.ProbeCell:
    """What is probed: N is the longest length that the matrix trained."""
    encoding = lw.encoding({"name": cell.encoding, **cell.settings["encoding"]})
    scheme = {"name": cell.scheme, "random_start": True} if cell.random_start else {"name": cell.scheme}
    return lw.forecast.probe.ProbeCell(
        lw.task(dict(cell.task)), encoding, cell.train, lw.scheme({**scheme, **cell.settings["scheme"]})
    )


def held(cell: lw.measured.MeasuredCell) -> bool:
    """Whether the matrix has at least 0.95 at four times the training length, or at the nearest tested length below."""
    places = [(test.low, test.high) for test in cell.tests if cell.train < test.high <= TIMES * cell.train]
    return bool(places) and (cell.accuracy(*max(places)) or 0.0) >= HELD


def run(work: Path, minutes: float, settings: lw.forecast.probe.ProbeSettings = SETTINGS, out: Path = RESULTS) -> None:
    """Probe the cells in order until the time is up."""
    ends = time.monotonic() + 60 * minutes
    out.mkdir(parents=True, exist_ok=True)
    for cell in cells():
        key = lw.core.files.slug(cell.system)
        path, left = out / f"{key}.json", ends - time.monotonic()
        if path.exists() or left <= 0:
            continue
        found = lw.forecast.probe.probe(probed(cell), budget=left, folder=work / key, settings=settings)
        print(f"{cell.system}: {found.status}, {found.accuracy}; {found.seconds} s", flush=True)
        if found.status != "out of time":
            values = {"system": cell.system, "probe": found.to_json(), **lw.experiments.provenance.provenance("cpu")}
            lw.core.files.write_json(path, values, dense=True)


def score_of(values: dict[str, Any]) -> float:
    """What the probe says of a cell; the larger, the likelier."""
    accuracy = values["probe"]["derived"]["accuracy"]
    return statistics.median(seed["fit"] for seed in values["probe"]["seeds"]) - 1 if accuracy is None else accuracy


def read(out: Path = RESULTS) -> list[tuple[lw.measured.MeasuredCell, dict[str, Any]]]:
    """The cells that were probed, with what was found."""
    paths = [(cell, out / f"{lw.core.files.slug(cell.system)}.json") for cell in cells()]
    return [(cell, lw.core.files.read_json(path)) for cell, path in paths if path.exists()]


def auc(found: Sequence[tuple[lw.measured.MeasuredCell, dict[str, Any]]]) -> float | None:
    """The AUC of the probe for cells that hold; None where all or none do."""
    from sklearn.metrics import roc_auc_score

    right = [held(cell) for cell, _ in found]
    return None if len(set(right)) < 2 else float(roc_auc_score(right, [score_of(values) for _, values in found]))


def tables() -> dict[str, str]:
    """The tables of the page as Markdown."""
    from table_parts import markdown

    found = read()
    by_fit = {True: [], False: []}
    for cell, values in found:
        by_fit[values["probe"]["status"] == "fitted"].append((cell, values))
    groups = {"all": found, "the probe fits": by_fit[True], "it does not fit": by_fit[False]}
    summary = [
        (
            name,
            str(len(group)),
            str(sum(held(cell) for cell, _ in group)),
            "–" if auc(group) is None else f"{auc(group):.2f}",
        )
        for name, group in groups.items()
    ]
    rows = []
    for cell, values in found:
        seeds = values["probe"]["seeds"]
        task, _, system = cell.system.rpartition(", ")
        last = [f"{seed['accuracy']['7-8']:.2f}" if seed.get("accuracy") else "–" for seed in seeds]
        fits = " ".join(f"{seed['fit']:.2f}" for seed in seeds)
        beyond = [(test.low, test.high) for test in cell.tests if cell.train < test.high <= TIMES * cell.train]
        at = f"{cell.accuracy(*max(beyond)) or 0.0:.2f}" if beyond else "not fitted"
        rows.append((task, system, fits, " ".join(last), at, "yes" if held(cell) else "no"))
    heads = ("task", "positions", "probe: fit at 1–4", "probe: at 7–8", "matrix: at 4×", "holds")
    return {
        "summary": markdown(("cells", "number", "hold", "AUC of the probe"), summary),
        "cells": markdown(heads, rows),
    }


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=ROOT / "work" / "probe-matrix", help="folder of checkpoints")
    parser.add_argument("--minutes", type=float, default=60)
    given = parser.parse_args(arguments)
    os.environ["OMP_NUM_THREADS"] = "1"
    run(given.work, given.minutes)


if __name__ == "__main__":
    main(sys.argv[1:])
