"""Controls for the Hugging Face example: plain or coupled ids in Llamas of other depths, biases, bases and tasks.

    python benchmarks/huggingface_plain.py [--layers 3] [--steps 4000] [--lr 1e-3] [--seed 0] [--json FILE]

Everything else is as in `examples/huggingface_addition.py`: lengths of up to 8, width, rule, test problems.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader
from transformers import LlamaForCausalLM

import lengthwise as lw
import lengthwise.hf as hf

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import huggingface_addition as example

LENGTHS = (1, 2, 4, 6, 8, 9, 10, 12, 16, 32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="addition")
    parser.add_argument("--ids", choices=("plain", "coupled"), default="plain")
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--base", type=float, default=example.rope["rope_theta"], help="of RoPE")
    parser.add_argument("--no-bias", action="store_true", help="no biases in attention")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--rows", type=int, default=128)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="also write the counts to this file")
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(given.seed)
    task = lw.task(given.task)
    config = type(example.shapes["Llama"])(
        **{
            **example.shapes["Llama"].to_dict(), "vocab_size": len(task.vocab), "num_hidden_layers": given.layers,
            "attention_bias": not given.no_bias, "rope_parameters": {**example.rope, "rope_theta": given.base},
        }
    )  # fmt: skip
    model = LlamaForCausalLM(config).train()
    if given.ids == "coupled":
        hf.attach(model, hf.CoupledPlaces(task, example.coupled))
    optimizer = torch.optim.AdamW(model.parameters(), lr=given.lr, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, given.lr, total_steps=given.steps + 1)
    rows = hf.dataset(task, range(1, 9), rows=given.rows, size=given.rows * given.steps, seed=given.seed)
    started, busy = time.perf_counter(), time.process_time()
    for step, batch in enumerate(DataLoader(rows, batch_size=given.rows, collate_fn=hf.collate())):
        loss = model(**batch, use_cache=False).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        if step % 250 == 0:
            print(f"step {step}, loss {float(loss.detach()):.4f}, {time.perf_counter() - started:.0f} s", flush=True)
    right = hf.right_answers(model, task, LENGTHS, size=100, seed=given.seed)
    settings = {name: value for name, value in vars(given).items() if name != "json"}
    seconds = {"seconds": round(time.perf_counter() - started), "cpu_seconds": round(time.process_time() - busy)}
    found = {**settings, "problems": 100, "right_by_length": right, **seconds}
    print(json.dumps(found))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
