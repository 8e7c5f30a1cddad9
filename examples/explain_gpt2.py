"""Trains a stock GPT-2 on words of (aa)*b*, by plain transformers code. Then say what it does and where it breaks:

lengthwise explain gpt2 --task "regex:(aa)*b*" --train 20 --vocab gpt2/vocab.json
"""

import json
import random
from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel

A, B, BOS, EOS = range(4)


def words(n):
    """All words of length n, and which tokens may come after each prefix."""
    ids = torch.tensor([[BOS] + [A] * k + [B] * (n - k) for k in range(0, n + 1, 2)])
    free, even = (ids == B).cumsum(1) == 0, (ids == A).cumsum(1) % 2 == 0
    return ids, torch.stack([free, even, torch.zeros_like(free), even], -1)


torch.manual_seed(0)
shape = {"n_positions": 48, "n_embd": 64, "n_layer": 2, "n_head": 2}
model = GPT2LMHeadModel(GPT2Config(vocab_size=4, bos_token_id=BOS, eos_token_id=EOS, **shape))
optimizer, rng = torch.optim.AdamW(model.parameters(), lr=1e-3), random.Random(0)
for _ in range(300):
    ids, allowed = words(rng.randint(1, 20))
    loss = torch.nn.functional.binary_cross_entropy_with_logits(model(ids).logits, allowed.float())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
model.eval()
model.save_pretrained("gpt2")
Path("gpt2/vocab.json").write_text(json.dumps({"a": A, "b": B, "<bos>": BOS, "<eos>": EOS}))
right = {
    n: int(((model(words(n)[0]).logits > 0) == words(n)[1]).all(-1).all(-1).sum()) for n in (5, 10, 20, 25, 30, 40)
}
print(", ".join(f"{n}: {count}/{len(words(n)[0])}" for n, count in right.items()))
