"""Measure speed against named baselines; the two sides take turns in one run, and medians are shown.

Run: python benchmarks/bench.py [data|train|seeds|generate|decide|all] [--repeats 5] [--clock cpu] [--quick] [--json].
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import sys
from collections.abc import Callable, Sequence
from typing import Any

from baselines.measure import BenchRow, Effort

from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.experiments.provenance import provenance
from lengthwise.training.threads import own_process, use_all_cores, use_threads

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
        module = importlib.import_module(f"baselines.{name}")
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


def draw(rows: Sequence[BenchRow], report: dict[str, Any]) -> None:
    """Print the table, then the machine and its load."""
    for row in rows:
        print(f"{row.name}\n  against {row.against}" + (f"; {row.note}" if row.note else ""))
        if row.ours is None or row.baseline is None or row.ratio is None:
            print(f"  skipped: {row.skipped}")
        else:
            print(f"  ours {row.ours:,.4g}  baseline {row.baseline:,.4g} {row.unit}  ratio {row.ratio:.2f}")
    machine = report["machine"]
    print(
        f"{machine['processor']}, {machine['cores']} cores, {machine['threads']} threads, torch {machine['torch']}; "
        f"load {machine['load_before']} before and {machine['load_after']} after; "
        f"peak memory {machine['peak_memory_mb']} MB; commit {report['commit']}; medians of {report['repeats']} "
        f"({report['clock']} time)"
    )


def main(words: Sequence[str] | None = None) -> int:
    """Run the script; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("area", nargs="?", default="all", choices=(*AREAS, "all"))
    parser.add_argument("--repeats", type=int, default=5, help="timed repeats of each side; medians are shown")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: for a machine that is shared")
    parser.add_argument("--quick", action="store_true", help="smaller cases, for a first look")
    parser.add_argument("--threads", type=int, help="processor threads")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(words)
    rows: list[BenchRow] = []

    def on_row(row: BenchRow) -> None:
        rows.append(row)
        print(f"measured {row.name}", file=sys.stderr)

    try:
        own_process()
        use_threads(given.threads)
        use_all_cores()
        report = run_bench(given.area, Effort(given.repeats, given.clock, given.quick), on_row=on_row)
    except LengthwiseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if given.json:
        print(json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False))
    else:
        draw(rows, report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
