"""Do rows of the kind that `explain` names help or harm? The design is in ``rows_of_a_kind.md``, written before.

python studies/explain/rows_of_a_kind.py OUT [SECONDS]

Trains one model after the other in OUT on one thread; what is finished there is reused. After each one the counts so
far are in OUT/rows_of_a_kind.json, of which the file beside this one is a copy. After SECONDS no further one begins.
``python studies/tables.py studies/explain/rows_of_a_kind.md`` prints the tables of the page.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
import sys
import time
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import lengthwise as lw

FILE = Path(__file__).with_suffix(".json")
SEEDS = range(10, 20)
TRAIN, STEPS, ROWS, SHARE = 8, 1_000, 128, 0.1
LENGTHS, SIZE = (4, 6, 8, 16, 24, 32, 40, 48, 56, 61), 256
USUAL = "both numbers have leading zeros"
"""The kind where `explain` advises rows of none."""
IDS = {"name": "coupled", "draw": "pose", "max_position": 64}
SHAPE = {
    "hidden_size": 128, "intermediate_size": 512, "num_hidden_layers": 1, "num_attention_heads": 4,
    "attention_bias": True, "rope_parameters": {"rope_type": "default", "rope_theta": 100.0},
    "bos_token_id": None, "eos_token_id": None, "pad_token_id": 0,
}  # fmt: skip
ARMS = ("first", "continued with rows", "continued without", "from scratch with rows")
PAIRS = (
    ("continued with rows", "continued without"),
    ("from scratch with rows", "first"),
    ("continued without", "first"),
)


def train(task: Any, model: Any, seed: int, more: dict[str, float], longest: int = TRAIN) -> None:
    """As docs/howto/hugging-face.md trains, to a longest length."""
    import torch
    from torch.utils.data import DataLoader

    torch.manual_seed(seed)
    rows: Any = lw.hf.dataset(task, range(1, longest + 1), rows=ROWS, size=ROWS * STEPS, seed=seed, more=more)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=STEPS + 1)
    for batch in DataLoader(rows, batch_size=ROWS, collate_fn=lw.hf.collate()):
        loss = model.train()(**batch, use_cache=False).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()


def trained(
    task: Any, folder: Path, seed: int, start: Path | None, more: dict[str, float], longest: int = TRAIN
) -> Any:
    """The model of a folder; it is trained if the folder is not there, from the model of ``start`` or from scratch."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    if not (folder / "model.safetensors").exists():
        if start is None:
            torch.manual_seed(seed)
            model = LlamaForCausalLM(LlamaConfig(vocab_size=len(task.vocab), **SHAPE))
            model = lw.hf.attach(model, lw.hf.CoupledPlaces(task, IDS))
        else:
            model = lw.hf.attach(LlamaForCausalLM.from_pretrained(start))
        train(task, model, seed + 1_000 * (start is not None), more, longest)
        model.save_pretrained(folder)
    return lw.hf.attach(LlamaForCausalLM.from_pretrained(folder))


def values_of(folder: Path, out: Path) -> str:
    """The values in half of the columns that `explain` names, as `lengthwise.hf.dataset` draws them; else empty."""
    cause = lw.explain(folder, train=TRAIN, out=out).failures.common
    return "" if cause is None or cause.worst.where != lw.tasks.values.INSIDE else cause.strings


def counts(task: Any, model: Any, kind: str | None) -> list[int]:
    """Right sums of `SIZE` at each of `LENGTHS`."""
    return list(lw.hf.right_answers(model, task, LENGTHS, size=SIZE, seed=99, kind=kind).values())


def main(out: Path, seconds: float) -> None:
    """Train, ask, and write."""
    import torch

    torch.set_num_threads(1)
    task, file, ends = lw.task("addition"), out / FILE.name, time.monotonic() + seconds
    held = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"models": []}
    rows: list[dict[str, Any]] = held["models"]
    order = [
        (seed, arm) for seeds in (SEEDS[:6], SEEDS[6:]) for arms in (ARMS[:3], ARMS[3:])
        for seed in seeds for arm in arms
    ]  # fmt: skip
    for seed, arm in order:
        if any((row["seed"], row["arm"]) == (seed, arm) for row in rows):
            continue
        if time.monotonic() > ends:
            break
        first = out / f"first-{seed}"
        known = next((row for row in rows if (row["seed"], row["arm"]) == (seed, "first")), {})
        kind, more = known.get("kind", USUAL), {}
        if "with rows" in arm:
            more = {kind: SHARE}
        folder = first if arm == "first" else out / f"{arm.replace(' ', '-')}-{seed}"
        model = trained(task, folder, seed, first if arm.startswith("continued") else None, more)
        row: dict[str, Any] = {"seed": seed, "arm": arm}
        if arm == "first":
            found = lw.explain(first, train=TRAIN, out=out / f"explain-{seed}")
            named = re.search(r"more=(\{.*\})", found.command)
            kind = next(iter(ast.literal_eval(named[1]))) if named else USUAL
            row |= {"kind": kind, "named": bool(named), "answer": found.answer}
        row |= {"random": counts(task, model, None), "of the kind": counts(task, model, kind)}
        rows.append(row)
        about = {"lengths": list(LENGTHS), "size": SIZE, "models": rows}
        lw.core.files.write_json(file, {**about, **lw.experiments.provenance.provenance("cpu")}, dense=True)
        print(json.dumps(row), flush=True)


def longest(right: list[int]) -> int:
    """The longest asked length to which at least 95 % are right; 0 if not even at the first."""
    good = itertools.takewhile(lambda pair: pair[1] >= 0.95 * SIZE, zip(LENGTHS, right, strict=True))
    return max((length for length, _ in good), default=0)


def beyond(right: list[int]) -> float:
    """The share of right sums over all asked lengths beyond training."""
    some = [count for length, count in zip(LENGTHS, right, strict=True) if length > TRAIN]
    return sum(some) / (SIZE * len(some))


def exact(differences: list[float]) -> float:
    """Two-sided p of the mean difference, over all ways to turn signs around."""
    most, signs = abs(sum(differences)) - 1e-9, itertools.product((1, -1), repeat=len(differences))
    sums = [abs(sum(s * d for s, d in zip(turn, differences, strict=True))) for turn in signs]
    return sum(each >= most for each in sums) / len(sums)


def paired(of: dict[Any, Any], pairs: Any, sums: tuple[str, ...], seeds: Any = SEEDS) -> list[list[str]]:
    """Of each pair of arms and kind of sums the differences by seed, with their p, in cells of a table."""
    cells = []
    for arm, other in pairs:
        both = [(of[s, arm], of[s, other]) for s in seeds if (s, arm) in of and (s, other) in of]
        for name in sums if both else ():
            found = [beyond(a[name]) - beyond(b[name]) for a, b in both]
            far = [longest(a[name]) - longest(b[name]) for a, b in both]
            spread = stdev(found) if len(found) > 1 else 0.0
            cells.append([
                f"{arm} − {other}", name, " ".join(f"{d:+.3f}" for d in found), f"{mean(found):+.3f} ± {spread:.3f}",
                f"{exact(found):.3f}", " ".join(f"{d:+d}" for d in far),
            ])  # fmt: skip
    return cells


def tables() -> dict[str, str]:
    """The tables of the page: all seeds, and paired differences."""
    from table_parts import markdown

    rows = json.loads(FILE.read_text(encoding="utf-8"))["models"]
    of = {(row["seed"], row["arm"]): row for row in rows}
    every = [
        [str(seed), arm, *(f"{longest(row[name])}" for name in ("random", "of the kind")),
         *(" ".join(map(str, row[name])) for name in ("random", "of the kind"))]
        for seed in SEEDS for arm in ARMS if (row := of.get((seed, arm)))
    ]  # fmt: skip
    pairs = paired(of, PAIRS, ("random", "of the kind"))
    return {
        "every seed": markdown(
            ["seed", "model", "random right to", "of the kind to", "random", "of the kind"], every
        ),
        "paired": markdown(
            ["models", "sums", "difference by seed", "mean ± spread", "p", "longest right length"], pairs
        ),
    }  # fmt: skip


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    main(target, float(sys.argv[2]) if len(sys.argv) > 2 else 3600)
