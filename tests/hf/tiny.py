"""Tiny stock models with random weights, and a slow generator that serves as their oracle."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

VOCAB, SEPARATOR, PAD = 13, 3, 0
SHAPES = ("llama", "gpt2", "gpt_neox", "qwen2")
COMMON: dict[str, Any] = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": PAD}
GROUPED: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
}  # fmt: skip


def tiny(kind: str, attention: str = "sdpa", *, vocab: int = VOCAB, positions: int = 128, seed: int = 0) -> Any:
    """A model of one kind; its weights are large, so that position ids change what it says."""
    torch.manual_seed(seed)
    common = {**COMMON, "vocab_size": vocab, "attn_implementation": attention, "max_position_embeddings": positions}
    match kind:
        case "llama":
            model = LlamaForCausalLM(LlamaConfig(**common, **GROUPED, num_key_value_heads=2))
        case "qwen2":
            model = Qwen2ForCausalLM(Qwen2Config(**common, **GROUPED, num_key_value_heads=2))
        case "gpt_neox":
            model = GPTNeoXForCausalLM(GPTNeoXConfig(**common, **GROUPED))
        case _:
            model = GPT2LMHeadModel(GPT2Config(**common, n_embd=32, n_layer=2, n_head=4))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1:
                parameter.mul_(8 if "wpe" not in name else 40)
    return model.eval()


def causal(tokens: int) -> Tensor:
    """A mask [1, 1, T, T] that is added to the scores; given in four dimensions, nothing is derived from ids."""
    return torch.full((tokens, tokens), torch.finfo(torch.float32).min).triu(1)[None, None]


@torch.no_grad()
def logits_under(model: Any, tokens: Tensor, ids: Tensor) -> Tensor:
    """Logits of one row of tokens [1, T] under ids [1, T], in a full pass of the stock model."""
    return model(tokens, position_ids=ids, attention_mask=causal(tokens.shape[1]), use_cache=False).logits


def slow_greedy(model: Any, prompt: list[int], rule: Any, steps: int) -> list[int]:
    """Greedy generation, one full pass per token, one row at a time, without padding, cache, hook or `generate`."""
    tokens = list(prompt)
    for _ in range(steps):
        row = torch.tensor([tokens])
        tokens.append(int(logits_under(model, row, rule(row))[0, -1].argmax()))
    return tokens[len(prompt) :]


def padded(rows: list[list[int]], *, left: bool = True) -> dict[str, Tensor]:
    """Rows of different lengths with padding, and the attention mask."""
    width = max(map(len, rows))
    ids, mask = torch.full((len(rows), width), PAD), torch.zeros(len(rows), width, dtype=torch.long)
    for row, tokens in enumerate(rows):
        place = slice(width - len(tokens), width) if left else slice(len(tokens))
        ids[row, place], mask[row, place] = torch.tensor(tokens), 1
    return {"input_ids": ids, "attention_mask": mask}


def restarting(tokens: Tensor) -> Tensor:
    """Ids that restart at the separator, written as a loop."""
    ids = torch.zeros_like(tokens)
    for row in range(len(tokens)):
        count = 0
        for index, token in enumerate(tokens[row].tolist()):
            count = 0 if token == SEPARATOR else count
            ids[row, index] = count
            count += 1
    return ids
