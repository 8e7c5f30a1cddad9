"""Why GPT-2 fails at some sums of 32 digits under coupled ids, where Llama does not: the model of the example, tested.

    python benchmarks/huggingface_errors.py [--shape GPT-2] [--seeds 0 1 2] [--digits 32] [--json FILE]

Trains the model of `examples/huggingface_addition.py` (2,500 steps; weights go to ``runs/huggingface-addition``, where
they are reused) and counts, for each seed: in how many training rows each id was; which share of the digits is wrong
whose token has that id; right sums if the block of ids begins later than at 1; right sums if tokens of places far from
the one that is added are hidden; right sums if all attention scores are multiplied by a number. ``--fresh 1 1.5`` tests
the models, with scores multiplied by these, on new problems through `generate`.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

import lengthwise.hf as hf
from lengthwise.core.rng import stream

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import huggingface_addition as example

STEPS, ROWS, DRAWN = 2500, 100, 20_000
SCALES = (1.0, 1.25, 1.5, 2.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="GPT-2", choices=list(example.shapes))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--digits", type=int, default=32)
    parser.add_argument("--runs", type=Path, default=Path("runs/huggingface-addition"))
    parser.add_argument("--json", type=Path, help="also write everything to this file")
    parser.add_argument("--fresh", type=float, nargs="+", help="only test, on new problems, with scores times these")
    given = parser.parse_args()
    example.STEPS = STEPS
    if given.fresh:
        for seed, scale in product(given.seeds, given.fresh):
            tested_anew(model_of(given.shape, seed, given.runs), given.shape, seed, scale)
        return
    found = {"shape": given.shape, "digits": given.digits, "sums": ROWS, "rows_with_id": rows_with_id()}
    found["seeds"] = {}
    for seed in given.seeds:
        found["seeds"][seed] = examined(model_of(given.shape, seed, given.runs), given.digits, seed)
        print(json.dumps({seed: found["seeds"][seed]}), flush=True)
        if given.json:
            given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def model_of(shape: str, seed: int, runs: Path) -> Any:
    """The trained model with its rule, from ``runs`` if it is there."""
    folder = runs / f"{shape}-coupled-{seed}"
    if not folder.exists():
        example.trained(shape, "coupled", seed).save_pretrained(folder)
    torch.set_num_threads(1)
    return AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()


def tested_anew(model: Any, shape: str, seed: int, scale: float) -> None:
    """Print shape, ids, seed, digits, right, of, scale; the problems are others than those of the example."""
    made = hf.attach(sharpened(model, scale), hf.CoupledPlaces(example.task, example.coupled))
    for digits, right_sums in hf.right_answers(made, example.task, (4, 8, 16, 32), size=ROWS, seed=1000 + seed).items():
        print(shape, "coupled", seed, digits, right_sums, ROWS, scale, sep="\t", flush=True)


def rows_with_id() -> list[float]:
    """The share of training rows that hold each id from 1, of `DRAWN` rows of 1 to 8 digits."""
    rule, lengths = hf.CoupledPlaces(example.task, example.coupled), range(1, 9)
    counts = np.zeros(example.coupled["max_position"] + 1)
    torch.manual_seed(0)
    for length in lengths:
        tokens = torch.from_numpy(
            example.task.batch(length, DRAWN // len(lengths), stream(0, "rows", length)).input_ids
        )
        ids = rule.ids(tokens, torch.full((len(tokens),), tokens.shape[1]), True).numpy()
        for row in ids:
            counts[np.unique(row)] += 1
    return (counts[1:] / DRAWN).round(4).tolist()


def examined(model: Any, digits: int, seed: int) -> dict[str, Any]:
    """All counts of one model, on the problems of the example."""
    batch = example.task.batch(digits, ROWS, stream(seed, "test", digits))
    tokens, places, scored = torch.from_numpy(batch.input_ids), torch.from_numpy(batch.places[0, :, 0]), batch.scored
    last = example.coupled["max_position"] - int(places.max())
    starts = sorted({0, 1, 2, 4, 8, 12, 16, 20, 24, 28, last})
    wrong = {start: ~right(model, tokens, ids_from(places, start))[:, scored] for start in starts if start <= last}
    near = {count: hidden(places, count, seed) for count in (0, 8, 16, 24)}
    first = ids_from(places, 0)
    return {
        "right_by_first_id": {1 + start: sums(~each) for start, each in wrong.items()},
        "wrong_by_id": {
            1 + start: dict(zip((places[scored] + start).tolist(), each.sum(0).tolist(), strict=True))
            for start, each in wrong.items()
        },
        "right_by_far_places": {
            count: sums(right(model, tokens, first, mask)[:, scored]) for count, mask in near.items()
        },
        "right_by_scale": {scale: sums(right(sharpened(model, scale), tokens, first)[:, scored]) for scale in SCALES},
    }


def sums(each: Tensor) -> int:
    """Rows without a mistake; given the right prefix at every token, which is what greedy generation comes to."""
    return int(each.all(1).sum())


def ids_from(places: Tensor, start: int) -> Tensor:
    """The ids of the test, moved on by ``start``; tokens without a place keep id 0."""
    return places + start * (places > 0)


@torch.no_grad()
def right(model: Any, tokens: Tensor, ids: Tensor, hide: Tensor | None = None) -> Tensor:
    """Whether each token [B, T] is the argmax after the ones before it; the first counts as right."""
    size = tokens.shape[1]
    seen = torch.ones(size, size, dtype=torch.bool).tril()
    seen = seen if hide is None else seen & ~hide
    mask = torch.zeros(size, size).masked_fill(~seen, torch.finfo(torch.float32).min)
    hf.attach(model, lambda rows: ids.expand(rows.shape))
    try:
        found = model(tokens, attention_mask=mask.expand(len(tokens), 1, size, size), use_cache=False).logits.argmax(-1)
    finally:
        hf.detach(model)
    return torch.cat([torch.ones(len(tokens), 1, dtype=torch.bool), found[:, :-1] == tokens[:, 1:]], dim=1)


def hidden(places: Tensor, visible: int, seed: int) -> Tensor:
    """For each token the ones that are hidden from it: places not next to the one it predicts, but for ``visible``."""
    rng, size = stream(seed, "far", visible), len(places)
    result = torch.zeros(size, size, dtype=torch.bool)
    for query in range(size - 1):
        target = int(places[query + 1])
        far = [place for place in places.unique().tolist() if place > 0 and abs(place - target) > 1]
        kept = rng.permutation(far)[:visible].tolist()
        result[query] = torch.isin(places, torch.tensor([place for place in far if place not in kept]))
        result[query, query] = False
    return result


def sharpened(model: Any, scale: float) -> Any:
    """A copy of a GPT-2 or Llama whose attention scores are ``scale`` times as large."""
    made = copy.deepcopy(model)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if ".c_attn." in name:
                parameter[..., : made.config.hidden_size] *= scale
            elif ".q_proj." in name:
                parameter *= scale
    return made


if __name__ == "__main__":
    main()
