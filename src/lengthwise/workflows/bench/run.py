"""The areas of the benchmark, and a run over some of them."""

from __future__ import annotations

import importlib
import os
import resource
from collections.abc import Callable
from typing import Any

from lengthwise.core.errors import UnknownNameError
from lengthwise.experiments.provenance import provenance
from lengthwise.workflows.bench.measure import BenchRow, Effort

AREAS = ("data", "train", "seeds", "generate", "decide")


def run_bench(area: str, effort: Effort, *, on_row: Callable[[BenchRow], None] | None = None) -> dict[str, Any]:
    """Measure one area, or ``all``: ``{"results": [...], "machine": {...}, ...}``.

    Raises `UnknownNameError` for an unknown area.
    """
    if area != "all" and area not in AREAS:
        raise UnknownNameError("area of the benchmark", area, (*AREAS, "all"))
    before = os.getloadavg()[0]
    results = []
    for name in AREAS if area == "all" else (area,):
        # Only what is measured is loaded: deciding needs no torch.
        module = importlib.import_module(f"lengthwise.workflows.bench.{name}")
        for row in module.rows(effort):
            results.append(row.to_json())
            if on_row is not None:
                on_row(row)
    where = provenance("cpu")
    machine = where["machine"] | {
        "load_before": round(before, 1),
        "load_after": round(os.getloadavg()[0], 1),
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    measured = {"repeats": effort.repeats, "clock": effort.clock}
    return {"results": results, "machine": machine, "commit": where["commit"], "time": where["time"], **measured}
