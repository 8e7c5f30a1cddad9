"""Do longer strings in training move the length at which an adder breaks? The design is in ``longer_strings.md``.

python studies/explain/longer_strings.py OUT [SECONDS]

OUT holds the first models of `half_of_the_rows.py`, or they are trained there. After each model the counts so far are
in OUT/longer_strings.json, of which the file beside this one is a copy; after SECONDS no further model begins.
``python studies/tables.py studies/explain/longer_strings.md`` prints the tables of the page.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import half_of_the_rows
from rows_of_a_kind import LENGTHS, SIZE, USUAL, counts, longest, paired, trained

import lengthwise as lw

FILE, SEEDS = Path(__file__).with_suffix(".json"), half_of_the_rows.SEEDS
LONGER = 12
"""Digits of the longest sums in training, in place of 8."""
ARMS = ("first", "longer strings", "longer strings from scratch")
BASE = ("first", "steps alone")
"""Models of the same seeds that half_of_the_rows.json tells of."""
PAIRS = (("longer strings", "steps alone"), ("longer strings from scratch", "first"))
SUMS = ("random", "of the kind")


def main(out: Path, seconds: float) -> None:
    """Train, ask, and write."""
    import torch

    torch.set_num_threads(1)
    task, file, ends = lw.task("addition"), out / FILE.name, time.monotonic() + seconds
    rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["models"] if file.exists() else []
    for seed, arm in [*((seed, arm) for seed in SEEDS for arm in ARMS[:2]), *((seed, ARMS[2]) for seed in SEEDS)]:
        if any((row["seed"], row["arm"]) == (seed, arm) for row in rows) or time.monotonic() > ends:
            continue
        first, to = out / f"first-{seed}", {} if arm == "first" else {"longest": LONGER}
        folder = first if arm == "first" else out / f"{arm.replace(' ', '-')}-{seed}"
        model = trained(task, folder, seed, first if arm == ARMS[1] else None, {}, **to)
        asked = {name: counts(task, model, kind) for name, kind in zip(SUMS, (None, USUAL), strict=True)}
        rows.append({"seed": seed, "arm": arm, **asked})
        print(json.dumps(rows[-1]), flush=True)
        about = {"lengths": list(LENGTHS), "size": SIZE, "models": rows}
        lw.core.files.write_json(file, {**about, **lw.experiments.provenance.provenance("cpu")}, dense=True)


def tables() -> dict[str, str]:
    """The tables of the page: all seeds, and paired differences."""
    from table_parts import markdown

    rows = json.loads(FILE.read_text(encoding="utf-8"))["models"]
    base = json.loads(half_of_the_rows.FILE.read_text(encoding="utf-8"))["models"]
    of = {(row["seed"], row["arm"]): row for row in [*rows, *(row for row in base if row["arm"] in BASE)]}
    every = [
        [str(seed), arm, *(str(longest(row[name])) for name in SUMS), *(" ".join(map(str, row[name])) for name in SUMS)]
        for seed in SEEDS for arm in dict.fromkeys((*BASE, *ARMS)) if (row := of.get((seed, arm)))
    ]  # fmt: skip
    heads = ["models", "sums", "difference by seed", "mean ± spread", "p", "longest right length"]
    return {
        "every seed": markdown(["seed", "model", "random right to", "of the kind to", *SUMS], every),
        "paired": markdown(heads, paired(of, PAIRS, SUMS, SEEDS)),
    }  # fmt: skip


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    main(target, float(sys.argv[2]) if len(sys.argv) > 2 else 3600)
