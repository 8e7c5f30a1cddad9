"""The development cells of the forecast: what was measured under the frozen ladder, as `cells.json` lists it.

Run from the root of the repository: ``python studies/forecast/cells.py`` writes the list and prints its count.
"""

from __future__ import annotations

import collections
from pathlib import Path
from typing import Any

import lengthwise as lw

LIST = Path(__file__).with_name("cells.json")
STUDIES = ("blind", "blind-next", "ten-expressions/study", "variants/study")
LEFT_OUT = ("ape-no-qk-norm", "ape+reg")
"""Two settings of one position system; the probe has those of the ladder."""
LONGEST = 50
"""N of the frozen ladder."""


def measured_cells() -> list[dict[str, Any]]:
    """One entry a cell: key, study, name, encoding, task, N, shape, and what the ladder measured; no cell twice."""
    found: dict[str, dict[str, Any]] = {}
    for name in STUDIES:
        study = lw.experiments.blind.study.read_study(next(LIST.parents[1].glob(f"*/results/{name}")))
        for table in lw.experiments.blind.study.TABLES:
            for entry in study.entries(table):
                for encoding in study.encodings:
                    if encoding in LEFT_OUT:
                        continue
                    row = lw.experiments.blind.study.cell_row(study, table, entry, encoding)
                    if row["status"] == "not run":
                        continue
                    task = lw.tasks.TASKS.describe(entry.task)
                    found.setdefault(
                        lw.core.config.digest([task, encoding]),
                        {
                            "key": lw.core.files.slug(f"{name.split('/')[0]} {entry.name} {encoding}"),
                            "study": name,
                            "name": entry.name,
                            "encoding": encoding,
                            "task": task,
                            "longest": LONGEST,
                            "shape": lw.forecast.probe.shape_of(
                                lw.forecast.probe.ProbeCell(entry.task, encoding, LONGEST)
                            ),
                            "status": row["status"],
                            "rung": row["rung"],
                            "score": row["score"],
                        },
                    )
    return list(found.values())


def read_cells() -> list[dict[str, Any]]:
    """The list as it was written."""
    return list(lw.core.files.read_json(LIST, what="list of cells"))


def informative(cell: dict[str, Any]) -> tuple[float, str]:
    """Sorts cells of the hard middle first: those that had to climb, and those that are neither right nor wrong."""
    score = cell["score"]
    middle = 0.0 if score is None else 4 * score * (1 - score)
    return -(middle + 0.5 * ((cell["rung"] or 1) > 1)), cell["key"]


if __name__ == "__main__":
    cells = measured_cells()
    lw.core.files.write_json(LIST, cells)
    print(f"{len(cells)} cells:", dict(collections.Counter((c["encoding"], c["status"]) for c in cells)))
