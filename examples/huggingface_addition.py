"""Plain and coupled position ids in a stock Llama and GPT-2 on addition, from training to a picture.

`python huggingface_addition.py full Llama` trains three seeds under plain and three under coupled ids, two at a time,
tests them through `generate` and draws the counts. Give it again after a stop: what is finished is not trained again.
Without `full` everything is tiny. Rows of the files: model, ids, seed, digits, right, of.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import torch
from matplotlib.figure import Figure
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, PreTrainedModel

import lengthwise.hf as hf
from lengthwise.core.files import write_text
from lengthwise.tasks.addition import Addition

FULL = "full" in sys.argv
STEPS, ROWS, SEEDS, LENGTHS = (2500, 100, 3, (4, 8, 16, 32)) if FULL else (2, 4, 1, (2, 3))
FOLDER = Path("huggingface-addition" if FULL else "huggingface-addition-tiny")
task, coupled = Addition(), {"name": "coupled", "draw": "pose", "max_position": 64}
common = {"vocab_size": len(task.vocab), "bos_token_id": None, "eos_token_id": None, "pad_token_id": 0}
rope = {"rope_type": "default", "rope_theta": 100.0}
sizes = {"hidden_size": 128, "intermediate_size": 512, "num_hidden_layers": 1, "num_attention_heads": 4}
shapes = {"GPT-2": GPT2Config(**common, n_embd=128, n_layer=1, n_head=4, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)}
shapes["Llama"] = LlamaConfig(**common, **sizes, attention_bias=True, rope_parameters=rope)


def trained(shape: str, ids: str, seed: int) -> PreTrainedModel:
    """A model that was trained on sums of up to 8 digits."""
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(shapes[shape])
    if ids == "coupled":
        hf.attach(model, hf.CoupledPlaces(task, coupled))
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=STEPS + 1)
    rows = hf.dataset(task, range(1, 9), rows=128, size=128 * STEPS, seed=seed)
    for batch in DataLoader(rows, batch_size=128, collate_fn=hf.collate()):
        model.train()(**batch, use_cache=False).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step(), optimizer.zero_grad(), schedule.step()
    return model


def tested(shape: str, ids: str, seed: int) -> dict[int, int]:
    """Right sums by number of digits; trains a model where the file does not have them yet."""
    file = FOLDER / f"{shape}-{ids}-{seed}.tsv"
    if not file.exists():
        right = hf.right_answers(trained(shape, ids, seed), task, LENGTHS, size=ROWS, seed=seed)
        write_text(file, "".join(f"{shape}\t{ids}\t{seed}\t{n}\t{count}\t{ROWS}\n" for n, count in right.items()))
        print(file.read_text(), end="", flush=True)
    return {int(line.split("\t")[3]): int(line.split("\t")[4]) for line in file.read_text().splitlines()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    named = [[name for name in names if name in sys.argv] or names for names in (shapes, ("plain", "coupled"))]
    cells = list(product(*named, range(SEEDS)))
    # One thread each: two trainings run at a time.
    with ProcessPoolExecutor(2, get_context("spawn"), torch.set_num_threads, (1,)) as pool:
        found = list((pool.map if FULL else map)(tested, *zip(*cells, strict=True)))
    plot = Figure().subplots()
    for (shape, ids, seed), right in zip(cells, found, strict=True):
        style = ("o-" if ids == "coupled" else "s--") + ("C0" if shape == "Llama" else "C1")
        plot.plot(list(right), list(right.values()), style, label=None if seed else f"{shape}, {ids} ids")
    plot.set(xscale="log", xticks=LENGTHS, xticklabels=LENGTHS, xlabel="digits", ylabel=f"right sums of {ROWS}")
    plot.legend()
    plot.figure.savefig(FOLDER / "picture.svg")
