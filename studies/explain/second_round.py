"""Is a second round of rows with the values that fail worth its steps? The design is in ``second_round.md``.

python studies/explain/second_round.py OUT [SECONDS]

OUT holds the first models of `half_of_the_rows.py`, or they are trained there. After each seed the counts so far are in
OUT/second_round.json, of which the file beside this one is a copy; after SECONDS no further seed begins.
``python studies/tables.py studies/explain/second_round.md`` prints the tables of the page.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from half_of_the_rows import SEEDS
from rows_of_a_kind import LENGTHS, SHARE, SIZE, counts, longest, paired, trained, values_of

import lengthwise as lw

FILE = Path(__file__).with_suffix(".json")
ARMS = ("first", "rows once", "rows twice", "rows, then steps")
PAIRS = (("rows twice", "rows, then steps"), ("rows twice", "rows once"), ("rows, then steps", "rows once"))
SUMS = ("random", "with values")


def asked(seed: int, task: Any, out: Path) -> list[dict[str, Any]]:
    """Train and ask the models of a seed: two where the second explanation names no values, one if the first did."""
    folders = {arm: out / f"{arm.replace(',', '').replace(' ', '-')}-{seed}" for arm in ARMS}
    models, named = {"first": trained(task, folders["first"], seed, None, {})}, dict[str, str]()
    named["first"] = values_of(folders["first"], out / f"explain-first-{seed}")
    if named["first"]:
        models["rows once"] = trained(task, folders["rows once"], seed, folders["first"], {named["first"]: SHARE})
        named["rows once"] = values_of(folders["rows once"], out / f"explain-once-{seed}")
    if kind := named.get("rows once"):
        for number, (arm, more) in enumerate({"rows twice": {kind: SHARE}, "rows, then steps": {}}.items()):
            models[arm] = trained(task, folders[arm], seed + 1_000 * (number + 1), folders["rows once"], more)
    some = list[dict[str, Any]]()
    for arm, model in models.items():
        some.append({"seed": seed, "arm": arm, "values": named.get(arm, ""), "random": counts(task, model, None)})
        some[-1] |= {"with values": counts(task, model, kind)} if kind else {}
        print(json.dumps(some[-1]), flush=True)
    return some


def main(out: Path, seconds: float) -> None:
    """Train, ask, and write."""
    import torch

    torch.set_num_threads(1)
    task, file, ends = lw.task("addition"), out / FILE.name, time.monotonic() + seconds
    rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["models"] if file.exists() else []
    for seed in SEEDS:
        if any(row["seed"] == seed for row in rows) or time.monotonic() > ends:
            continue
        rows += asked(seed, task, out)
        about = {"lengths": list(LENGTHS), "size": SIZE, "models": rows}
        lw.core.files.write_json(file, {**about, **lw.experiments.provenance.provenance("cpu")}, dense=True)


def tables() -> dict[str, str]:
    """The tables of the page: all seeds, and paired differences."""
    from table_parts import markdown

    rows = json.loads(FILE.read_text(encoding="utf-8"))["models"]
    of = {(row["seed"], row["arm"]): row for row in rows}
    every = [
        [str(seed), arm, row["values"].removeprefix("half of the columns are ") or "–",
         *(str(longest(row[name])) if name in row else "–" for name in SUMS),
         *(" ".join(map(str, row.get(name, "–"))) for name in SUMS)]
        for seed in SEEDS for arm in ARMS if (row := of.get((seed, arm)))
    ]  # fmt: skip
    both = {key: row for key, row in of.items() if SUMS[1] in row}
    heads = ["models", "sums", "difference by seed", "mean ± spread", "p", "longest right length"]
    return {
        "every seed": markdown(
            ["seed", "model", "values that explain names", "random right to", "with values to", *SUMS], every
        ),
        "paired": markdown(heads, paired(both, PAIRS, SUMS, SEEDS)),
    }  # fmt: skip


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    main(target, float(sys.argv[2]) if len(sys.argv) > 2 else 3600)
