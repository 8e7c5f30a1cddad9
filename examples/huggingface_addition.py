"""Plain and coupled ids in a stock GPT-2 and Llama, by number of digits; call it with `full` to train for minutes."""

import sys

import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig

import lengthwise.hf as hf
from lengthwise.core.rng import stream
from lengthwise.tasks.addition import Addition

torch.set_num_threads(1)  # more gain nothing with a tiny model, and lose much beside other busy processes
STEPS, ROWS, SEEDS, LENGTHS = (3000, 100, 3, (4, 8, 16, 32)) if sys.argv[1:] == ["full"] else (2, 4, 1, (2, 3))
task, coupled = Addition(), {"name": "coupled", "draw": "pose", "max_position": 64}
common = {"vocab_size": len(task.vocab), "bos_token_id": 1, "eos_token_id": 3, "pad_token_id": 0}
shapes = {
    "GPT-2": GPT2Config(**common, n_embd=64, n_layer=1, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0),
    "Llama": LlamaConfig(**common, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4),
}
for shape, ids, seed in [(s, i, n) for s in shapes for i in ("plain", "coupled") for n in range(SEEDS)]:
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
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    for length in LENGTHS:
        tokens = torch.from_numpy(task.batch(length, ROWS, stream(seed, "test", length)).input_ids)
        prompt, right = tokens.split([2 * length + 3, length + 2], dim=1)
        said = model.eval().generate(prompt, max_new_tokens=length + 2, do_sample=False, pad_token_id=3)
        said = torch.nn.functional.pad(said[:, prompt.shape[1] :], (0, length + 2))[:, : length + 2]
        print(f"{shape}, {ids} ids, seed {seed}, n = {length}: {(said == right).all(1).sum() / ROWS:.2f}", flush=True)
