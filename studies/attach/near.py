"""How far does a stock Llama go that attends to near ids alone? The design is in ``near.md``, written before.

python studies/attach/near.py OUT [SECONDS]

Trains one model after the other in OUT on one thread; what is finished there is reused. After each one the counts so
far are in OUT/near.json, of which the file beside this one is a copy; after SECONDS no further model begins.
``python studies/tables.py studies/attach/near.md`` prints the tables of the page.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "explain"))
import half_of_the_rows
from rows_of_a_kind import LENGTHS, SHAPE, SIZE, USUAL, counts, longest, paired, train

import lengthwise as lw

FILE, SEEDS, FEWER = Path(__file__).with_suffix(".json"), half_of_the_rows.SEEDS, 5
NEAR, IDS = 1, {"name": "coupled", "draw": "contiguous", "max_position": 512}
FAR, FAR_SIZE = (125, 500), 50
"""Lengths that ids up to 64 do not reach, and sums of each."""
ARMS = ("near", "ids alone")
FIRST = "first"
"""The rival: the same Llama that attends to everything, under the ids that suit it."""
PAIRS = ((ARMS[0], FIRST), ARMS)
SUMS = ("random", "of the kind")


def trained(task: Any, folder: Path, seed: int, near: int | None) -> Any:
    """The model of a folder; it is trained if the folder is not there."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    if not (folder / "model.safetensors").exists():
        torch.manual_seed(seed)
        model = LlamaForCausalLM(LlamaConfig(vocab_size=len(task.vocab), **SHAPE))
        model = lw.hf.attach(model, lw.hf.CoupledPlaces(task, IDS), near=near)
        train(task, model, seed, {})
        model.save_pretrained(folder)
    return lw.hf.attach(LlamaForCausalLM.from_pretrained(folder))


def main(out: Path, seconds: float) -> None:
    """Train, ask, and write."""
    import torch

    torch.set_num_threads(1)
    task, file, ends = lw.task("addition"), out / FILE.name, time.monotonic() + seconds
    rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["models"] if file.exists() else []
    for seed, arm in [*((seed, ARMS[0]) for seed in SEEDS), *((seed, ARMS[1]) for seed in SEEDS[:FEWER])]:
        if any((row["seed"], row["arm"]) == (seed, arm) for row in rows) or time.monotonic() > ends:
            continue
        model = trained(task, out / f"{arm.replace(' ', '-')}-{seed}", seed, NEAR if arm == ARMS[0] else None)
        row: dict[str, Any] = {"seed": seed, "arm": arm}
        for name, kind in zip(SUMS, (None, USUAL), strict=True):
            row[name] = counts(task, model, kind)
        row["far"] = [*lw.hf.right_answers(model, task, FAR, size=FAR_SIZE, seed=99).values()]
        rows.append(row)
        print(json.dumps(row), flush=True)
        about = {"lengths": list(LENGTHS), "size": SIZE, "far": list(FAR), "far size": FAR_SIZE, "models": rows}
        lw.core.files.write_json(file, {**about, **lw.experiments.provenance.provenance("cpu")}, dense=True)


def tables() -> dict[str, str]:
    """The tables of the page: all seeds, and paired differences."""
    from table_parts import markdown

    base = json.loads(half_of_the_rows.FILE.read_text(encoding="utf-8"))["models"]
    rows = [*(row for row in base if row["arm"] == FIRST), *json.loads(FILE.read_text(encoding="utf-8"))["models"]]
    of = {(row["seed"], row["arm"]): row for row in rows}
    every = [
        [str(seed), arm, *(str(longest(row[name])) for name in SUMS),
         *(" ".join(map(str, row.get(name, "–"))) for name in (*SUMS, "far"))]
        for seed in SEEDS for arm in (FIRST, *ARMS) if (row := of.get((seed, arm)))
    ]  # fmt: skip
    heads = ["models", "sums", "difference by seed", "mean ± spread", "p", "longest right length"]
    return {
        "every seed": markdown(["seed", "model", "random right to", "of the kind to", *SUMS, "far"], every),
        "paired": markdown(heads, paired(of, PAIRS, SUMS, SEEDS)),
    }


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    main(target, float(sys.argv[2]) if len(sys.argv) > 2 else 3600)
