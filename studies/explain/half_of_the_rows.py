"""Does half of the rows of the failing kind mend more than one in ten? The design is in ``half_of_the_rows.md``.

python studies/explain/half_of_the_rows.py OUT [SECONDS [FIRST_SEED]]

Trains as `rows_of_a_kind.py` does, on one thread, and reuses what is finished in OUT; after SECONDS no further model
begins. With FIRST_SEED a second process begins there. Each model's counts are a file in OUT, and
``python studies/explain/half_of_the_rows.py OUT 0`` gathers them into OUT/half_of_the_rows.json, of which the file
beside this one is a copy. ``python studies/tables.py studies/explain/half_of_the_rows.md`` prints the tables.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from rows_of_a_kind import LENGTHS, SIZE, USUAL, counts, longest, paired, trained

import lengthwise as lw

FILE = Path(__file__).with_suffix(".json")
SEEDS = range(20, 30)
SHARES = {"one row in two": 0.5, "one row in ten": 0.1, "steps alone": 0.0}
"""Of the kind, where the first model is trained on."""
ARMS = ("first", *SHARES)
PAIRS = (("one row in two", "one row in ten"), ("one row in two", "steps alone"), ("one row in ten", "steps alone"))


def main(out: Path, seconds: float, start: int) -> None:
    """Train, ask, and write what each model gets right; then gather all that is there."""
    import torch

    torch.set_num_threads(1)
    task, ends = lw.task("addition"), time.monotonic() + seconds
    order = [(seed, arm) for arms in (ARMS[:3], ARMS[3:]) for seed in SEEDS for arm in arms if seed >= start]
    for seed, arm in order:
        file = out / f"{arm.replace(' ', '-')}-{seed}.json"
        if file.exists() or time.monotonic() > ends:
            continue
        first = out / f"first-{seed}"
        more = {USUAL: SHARES[arm]} if SHARES.get(arm) else {}
        folder = first if arm == "first" else file.with_suffix("")
        model = trained(task, folder, seed, None if arm == "first" else first, more)
        row = {"seed": seed, "arm": arm, "random": counts(task, model, None), "of the kind": counts(task, model, USUAL)}
        lw.core.files.write_json(file, row)
        print(json.dumps(row), flush=True)
    files = [out / f"{arm.replace(' ', '-')}-{seed}.json" for seed in SEEDS for arm in ARMS]
    rows = [json.loads(file.read_text(encoding="utf-8")) for file in files if file.exists()]
    about = {"lengths": list(LENGTHS), "size": SIZE, "models": rows}
    lw.core.files.write_json(out / FILE.name, {**about, **lw.experiments.provenance.provenance("cpu")}, dense=True)


def tables() -> dict[str, str]:
    """The tables of the page: all seeds, and paired differences."""
    from table_parts import markdown

    rows: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))["models"]
    of, sums = {(row["seed"], row["arm"]): row for row in rows}, ("random", "of the kind")
    every = [
        [str(seed), arm, *(f"{longest(row[name])}" for name in sums), *(" ".join(map(str, row[name])) for name in sums)]
        for seed in SEEDS for arm in ARMS if (row := of.get((seed, arm)))
    ]  # fmt: skip
    heads = ["models", "sums", "difference by seed", "mean ± spread", "p", "longest right length"]
    return {
        "every seed": markdown(["seed", "model", "random right to", "of the kind to", *sums], every),
        "paired": markdown(heads, paired(of, PAIRS, sums, SEEDS)),
    }  # fmt: skip


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    main(target, float(sys.argv[2]) if len(sys.argv) > 2 else 3600, int(sys.argv[3]) if len(sys.argv) > 3 else SEEDS[0])
