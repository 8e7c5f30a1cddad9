"""With `near`, a token of a stock model sees tokens with near ids, and those with id 0, alone."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import SEPARATOR, SHAPES, causal, padded, restarting, tiny
from torch import Tensor
from transformers import AutoModelForCausalLM, BambaConfig, BambaForCausalLM, Qwen2Config, Qwen2ForCausalLM

import lengthwise as lw
from lengthwise.hf import CoupledPlaces, Restart, attach, detach, language_model

STEPS, NEAR = 8, 1
PROMPTS = [[5, 6, SEPARATOR, 7, 8, 5], [9, SEPARATOR, 4], [4, 5, 6, 7, SEPARATOR, 8, 9, 11, SEPARATOR]]


def near_alone(ids: list[int]) -> Tensor:
    """A mask [1, 1, T, T] that is added to the scores, written as a loop."""
    mask = torch.full((1, 1, len(ids), len(ids)), torch.finfo(torch.float32).min)
    for query, own in enumerate(ids):
        for key, other in enumerate(ids[: query + 1]):
            if abs(own - other) <= NEAR or other == 0:
                mask[0, 0, query, key] = 0
    return mask


@torch.no_grad()
def near_logits(model: Any, tokens: list[int]) -> Tensor:
    """Logits of a full pass of the stock model."""
    row = torch.tensor([tokens])
    ids = restarting(row)
    return model(row, position_ids=ids, attention_mask=near_alone(ids[0].tolist()), use_cache=False).logits[0]


def greedy(model: Any, prompt: list[int]) -> list[int]:
    tokens = list(prompt)
    for _ in range(STEPS):
        tokens.append(int(near_logits(model, tokens)[-1].argmax()))
    return tokens[len(prompt) :]


def generated(model: Any, batch: dict[str, Tensor], **settings: Any) -> list[list[int]]:
    found = model.generate(**batch, **{"max_new_tokens": STEPS, "do_sample": False, **settings})
    return found[:, batch["input_ids"].shape[1] :].tolist()


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("kind", SHAPES)
def test_generation_is_that_of_full_passes_with_a_mask(kind: str, attention: str):
    plain = tiny(kind, attention)
    expected = [greedy(plain, prompt) for prompt in PROMPTS]
    assert expected != generated(attach(tiny(kind, attention), Restart(SEPARATOR)), padded(PROMPTS)), "it must matter"
    model = attach(tiny(kind, attention), Restart(SEPARATOR), near=NEAR)
    for settings in ({}, {"use_cache": False}, {"cache_implementation": "static"}):
        assert generated(model, padded(PROMPTS), **settings) == expected, settings
    assert generated(model, {"input_ids": torch.tensor([PROMPTS[0]])}) == expected[:1]


@pytest.mark.parametrize("kind", SHAPES)
def test_what_is_far_has_no_effect(kind: str):
    model = attach(tiny(kind), Restart(SEPARATOR), near=NEAR)
    for batch in (padded(PROMPTS), padded(PROMPTS, left=False)):
        found = model(**batch).logits
        for row, prompt in enumerate(PROMPTS):
            right = near_logits(tiny(kind), prompt)
            assert torch.allclose(found[row][batch["attention_mask"][row].bool()], right, atol=1e-3)
    first, other = (torch.tensor([[5, 6, 7, 8, change, 9, 10, 11]]) for change in (4, 12))
    layers = 2  # A layer carries what it sees to the next tokens.
    same = torch.isclose(model(first).logits, model(other).logits, atol=1e-5).all(dim=-1)[0].tolist()
    assert same == [place < 4 or place > 4 + layers * NEAR for place in range(8)]


def test_the_folder_keeps_it_and_training_on_otherwise_is_told(tmp_path: Path):
    model = attach(tiny("llama"), Restart(SEPARATOR), near=NEAR)
    model.save_pretrained(tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    batch = padded(PROMPTS)
    assert torch.equal(attach(loaded)(**batch).logits, model(**batch).logits)
    detach(loaded)
    with pytest.warns(UserWarning, match="was trained with attention to near=1, and has near=2 now"):
        attach(loaded, Restart(SEPARATOR), near=2)


def test_what_no_mask_can_do_is_refused_in_a_line():
    rule = Restart(SEPARATOR)
    with pytest.raises(lw.LengthwiseError, match="near must be at least 0, got -1"):
        attach(tiny("llama"), rule, near=-1)
    settings = {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 0}
    config = Qwen2Config(
        vocab_size=13, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, **settings
    )
    with pytest.raises(lw.LengthwiseError, match="near can't be had of Qwen2ForCausalLM"):
        attach(Qwen2ForCausalLM(config), rule, near=NEAR)
    hybrid = BambaConfig(
        vocab_size=13, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        attn_layer_indices=[1], mamba_n_heads=4, mamba_d_head=16, mamba_d_state=8, intermediate_size=32,
    )  # fmt: skip
    refused = BambaForCausalLM(hybrid)
    with pytest.raises(lw.LengthwiseError, match="near can't be had of BambaForCausalLM"):
        attach(refused, rule, near=NEAR)
    attach(refused, rule)  # nothing is left of the first
    tokens = torch.tensor([PROMPTS[0]])
    with pytest.raises(lw.LengthwiseError, match=r"give an attention_mask of shape \[B, T\], or none"):
        attach(tiny("llama"), rule, near=NEAR)(tokens, attention_mask=causal(6))
    with pytest.raises(lw.LengthwiseError, match="attach it without near"):
        language_model(attach(tiny("llama"), rule, near=NEAR))
    jumps = CoupledPlaces("addition", {"name": "coupled", "draw": "pose", "max_position": 64})
    with pytest.warns(UserWarning, match="jumps between ids in training, over which near=1 does not see"):
        attach(tiny("llama", vocab=20), jumps, near=NEAR)


def test_a_copy_of_a_model_keeps_it():
    model = attach(tiny("llama"), Restart(SEPARATOR), near=NEAR)
    batch = padded(PROMPTS)
    assert torch.equal(copy.deepcopy(model)(**batch).logits, model(**batch).logits)


@pytest.mark.parametrize("near", [None, NEAR])
def test_a_compiled_model_keeps_it(near: int | None):
    model = attach(tiny("llama"), Restart(SEPARATOR), near=near)
    tokens = torch.tensor([PROMPTS[2]])
    compiled = torch.compile(model, backend="eager")
    assert torch.allclose(compiled(tokens).logits, model(tokens).logits, atol=1e-5)
