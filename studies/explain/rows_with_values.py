"""Do rows with the values that `explain` blames make an adder right farther? The design is in ``rows_with_values.md``.

python studies/explain/rows_with_values.py OUT [SECONDS]

OUT holds the models of `rows_of_a_kind.py`; one more of each seed is trained there, from the first. After each one the
counts so far are in OUT/rows_with_values.json, of which the file beside this one is a copy.
``python studies/tables.py studies/explain/rows_with_values.md`` prints the tables of the page.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from rows_of_a_kind import LENGTHS, SEEDS, SHARE, SIZE, counts, longest, paired, trained, values_of

import lengthwise as lw

FILE = Path(__file__).with_suffix(".json")
ARMS = ("first", "continued with values", "continued without", "continued with rows")
PAIRS = (("continued with values", "continued without"), ("continued with values", "continued with rows"))


def main(out: Path, seconds: float) -> None:
    """Train, ask, and write."""
    import torch

    torch.set_num_threads(1)
    task, file, ends = lw.task("addition"), out / FILE.name, time.monotonic() + seconds
    held = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"models": []}
    rows: list[dict[str, Any]] = held["models"]
    for seed in SEEDS:
        if any(row["seed"] == seed for row in rows) or time.monotonic() > ends:
            continue
        first = out / f"first-{seed}"
        values = values_of(first, out / f"explain-values-{seed}")
        some: list[dict[str, Any]] = [{"seed": seed, "arm": "first", "values": values}]
        for arm in ARMS if values else ():
            folder = first if arm == "first" else out / f"{arm.replace(' ', '-')}-{seed}"
            start, more = (first, {values: SHARE}) if arm == ARMS[1] else (None, {})
            model = trained(task, folder, seed, start, more)
            some += [{"seed": seed, "arm": arm}] if arm != "first" else []
            some[-1] |= {"random": counts(task, model, None), "with values": counts(task, model, values)}
            print(json.dumps(some[-1]), flush=True)
        rows += some
        about = {"lengths": list(LENGTHS), "size": SIZE, "models": rows}
        lw.core.files.write_json(file, {**about, **lw.experiments.provenance.provenance("cpu")}, dense=True)


def tables() -> dict[str, str]:
    """The tables of the page: all seeds, and paired differences."""
    from table_parts import markdown

    rows = json.loads(FILE.read_text(encoding="utf-8"))["models"]
    of = {(row["seed"], row["arm"]): row for row in rows}
    every = [
        [str(seed), of[seed, "first"]["values"] or "none was found", arm, str(longest(row["random"])),
         *(" ".join(map(str, row[name])) for name in ("random", "with values"))]
        for seed in SEEDS for arm in ARMS if (row := of.get((seed, arm))) and "random" in row
    ]  # fmt: skip
    pairs = paired(of, PAIRS, ("random", "with values"))
    return {
        "every seed": markdown(["seed", "values", "model", "random right to", "random", "with values"], every),
        "paired": markdown(
            ["models", "sums", "difference by seed", "mean ± spread", "p", "longest right length"], pairs
        ),
    }  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 3600)
