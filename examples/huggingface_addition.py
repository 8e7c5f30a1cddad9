"""Plain and coupled ids in GPT-2 and Llama; prints model, ids, seed, digits, right, of. `full Llama coupled` trains."""

import sys
from itertools import product

import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig

import lengthwise.hf as hf
from lengthwise.core.rng import stream
from lengthwise.tasks.addition import Addition

torch.set_num_threads(1)  # more gain nothing with a tiny model
STEPS, ROWS, SEEDS, LENGTHS = (2500, 100, 3, (4, 8, 16, 32)) if "full" in sys.argv else (2, 4, 1, (2, 3))
task, coupled = Addition(), {"name": "coupled", "draw": "pose", "max_position": 64}
common = {"vocab_size": len(task.vocab), "bos_token_id": None, "eos_token_id": None, "pad_token_id": 0}
rope = {"rope_type": "default", "rope_theta": 100.0}
sizes = {"hidden_size": 128, "intermediate_size": 512, "num_hidden_layers": 1, "num_attention_heads": 4}
shapes = {"GPT-2": GPT2Config(**common, n_embd=128, n_layer=1, n_head=4, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)}
shapes["Llama"] = LlamaConfig(**common, **sizes, attention_bias=True, rope_parameters=rope)
named = [[name for name in names if name in sys.argv] or names for names in (shapes, ("plain", "coupled"))]
for shape, ids, seed in product(*named, range(SEEDS)):
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
    for length in LENGTHS:
        tokens = torch.from_numpy(task.batch(length, ROWS, stream(seed, "test", length)).input_ids)
        prompt, answer = tokens.split([2 * length + 3, length + 2], dim=1)
        settings = {"attention_mask": torch.ones_like(prompt), "max_new_tokens": length + 2, "do_sample": False}
        right = (model.eval().generate(prompt, **settings)[:, 2 * length + 3 :] == answer).all(1).sum().item()
        print(shape, ids, seed, length, right, ROWS, sep="\t", flush=True)
