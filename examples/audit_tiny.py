"""Train a tiny Llama on `retrieval`, whose text it then reads in an audit: `python examples/audit_tiny.py`.

It takes two minutes of CPU on one thread and prints its loss; `python examples/audit_tiny.py 2` makes two steps only.
"""

import sys
from statistics import mean

import torch
from torch.utils.data import DataLoader
from transformers import LlamaConfig, LlamaForCausalLM

import lengthwise.hf as hf

SEED, ROWS, LR, FOLDER = 0, 64, 3e-3, "my-reader"
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
GOOD = 0.1  # a mean loss of the last steps below this is good enough for an audit

torch.set_num_threads(1)
torch.manual_seed(SEED)
tokenizer = hf.task_tokenizer("retrieval")
sizes = {"hidden_size": 64, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4}
ends = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **sizes, **ends))

# Up to 20 words of filler: an audit makes texts longer by it.
rows = hf.text_dataset("retrieval", range(3, 17), tokenizer, filler=20, rows=ROWS, size=ROWS * STEPS, seed=SEED)
optimizer = torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=0.01)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LR, total_steps=STEPS)
losses = []
for batch in DataLoader(rows, batch_size=ROWS, collate_fn=hf.collate()):
    optimizer.zero_grad()
    loss = model(**batch).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    losses.append(loss.item())
    if len(losses) % 100 == 0 or len(losses) == STEPS:
        print(f"step {len(losses)} of {STEPS}: loss {mean(losses[-50:]):.3f}", flush=True)

model.save_pretrained(FOLDER)
tokenizer.save_pretrained(FOLDER)
good = mean(losses[-50:]) < GOOD
print(f"{'Good enough' if good else 'It has not learned the task'}: a loss below {GOOD} is good enough for an audit.")
if good:
    asked = "--task retrieval --lengths 8,16,32,64 --forms lines --shots 0 --samples 20 --trained 3-16"
    print(f"lengthwise audit {FOLDER} {asked}")
