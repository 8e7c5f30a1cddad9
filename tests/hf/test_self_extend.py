"""Self-Extend in stock models: plain within the window, the paper's distances beyond, in every way of generating."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tiny import COMMON, GROUPED, PAD, VOCAB, padded, tiny
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

from lengthwise.core.errors import LengthwiseError
from lengthwise.hf import attach, extend

TOKENS = torch.tensor([[5, 6, 3, 7, 8, 5, 9, 4, 11, 12, 2, 6, 5, 7]])
KINDS = ("llama", "qwen2", "gpt_neox", "cohere", "qwen3", "glm")
"""Half a width apart; with biases; of a part of the width; neighbours; with normalized keys; neighbours of a part."""


def model(kind: str) -> Any:
    if kind in ("llama", "qwen2", "gpt_neox"):
        return tiny(kind)
    torch.manual_seed(0)
    config = CONFIG_MAPPING[kind](**COMMON, **GROUPED, vocab_size=VOCAB, num_key_value_heads=2, head_dim=8,
                                  max_position_embeddings=128)  # fmt: skip
    found = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in found.parameters():
            if parameter.ndim > 1:
                parameter.mul_(4)
    return found


def close(found: torch.Tensor, right: torch.Tensor) -> bool:
    return bool((found - right).abs().max() <= 1e-4 * right.abs().max())


def distance(i: int, j: int, near: int, group: int) -> int:
    """Of the paper: floor(i / G) + W − floor(W / G) less floor(j / G) beyond the window."""
    return i - j if i - j < near else i // group + near - near // group - j // group


@torch.no_grad()
def oracle(plain: Any, row: list[int], near: int, group: int) -> torch.Tensor:
    """Logits after the last token of a row, by attention that turns every pair of a query and a key on its own.

    Of a one-layer model: the rotary module is asked for the angle of each distance, and a key is turned by nothing.
    """
    layer = plain.model.layers[0]
    attention, heads = layer.self_attn, plain.config.num_attention_heads
    hidden = plain.model.embed_tokens(torch.tensor([row]))
    x = layer.input_layernorm(hidden)
    q, k, v = (part(x).view(len(row), -1, attention.head_dim) for part in
               (attention.q_proj, attention.k_proj, attention.v_proj))  # fmt: skip
    k, v = (part.repeat_interleave(heads // part.shape[1], dim=1) for part in (k, v))
    mixed = torch.zeros(len(row), heads, attention.head_dim)
    for i in range(len(row)):
        scores = torch.zeros(i + 1, heads)
        for j in range(i + 1):
            cos, sin = plain.model.rotary_emb(x, torch.tensor([[distance(i, j, near, group)]]))
            a, b = q[i].chunk(2, dim=-1)
            turned = q[i] * cos[0] + torch.cat([-b, a], dim=-1) * sin[0]
            scores[j] = (turned * k[j]).sum(-1) * attention.scaling
        mixed[i] = (scores.softmax(0)[:, :, None] * v[: i + 1]).sum(0)
    hidden = hidden + attention.o_proj(mixed.flatten(1))[None]
    hidden = hidden + layer.mlp(layer.post_attention_layernorm(hidden))
    return plain.lm_head(plain.model.norm(hidden))[0, -1]


@pytest.mark.parametrize(("near", "group"), [(1, 2), (3, 2), (4, 3), (5, 100)])
def test_distances_are_those_of_the_paper(near: int, group: int):
    plain = tiny("llama")
    plain.model.layers = plain.model.layers[:1]
    plain.config.num_hidden_layers = 1
    found = extend(plain, "self-extend", near=near, group=group)
    row = TOKENS[0].tolist()
    right = oracle(plain, row, near, group)
    assert close(found(TOKENS).logits[0, -1], right)
    assert not close(plain(TOKENS).logits[0, -1], right)


@pytest.mark.parametrize("kind", KINDS)
def test_within_the_window_it_is_the_plain_model_and_beyond_it_is_not(kind: str):
    plain = model(kind)
    found = extend(plain, "self-extend", near=5, group=3)
    with torch.no_grad():
        before, after = plain(TOKENS).logits, found(TOKENS).logits
    assert close(after[:, :5], before[:, :5])
    assert not close(after[:, 8:], before[:, 8:])
    assert all(a is b for a, b in zip(plain.parameters(), found.parameters(), strict=True))
    whole = extend(plain, "self-extend", near=5, group=1)
    assert close(whole(TOKENS).logits, before), "groups of one token change nothing"


@pytest.mark.parametrize("settings", [{}, {"cache_implementation": "static"}, {"num_beams": 2}], ids=str)
@pytest.mark.parametrize("kind", ["llama", "gpt_neox"])
def test_generation_is_that_of_full_passes(kind: str, settings: dict[str, Any]):
    found = extend(tiny(kind), "self-extend", near=3, group=2)
    rows = [TOKENS[0, :9].tolist(), TOKENS[0, 4:10].tolist(), TOKENS[0, 2:5].tolist()]
    batch = padded(rows)
    made = found.generate(**batch, max_new_tokens=5, do_sample=False, pad_token_id=PAD, **settings)
    for row, tokens in zip(rows, made[:, batch["input_ids"].shape[1] :].tolist(), strict=True):
        alone = found.generate(torch.tensor([row]), max_new_tokens=5, do_sample=False, use_cache=False,
                               num_beams=settings.get("num_beams", 1))  # fmt: skip
        assert alone[0, len(row) :].tolist() == tokens


def test_the_group_is_as_small_as_the_factor_allows():
    for factor, length in ((2, 64), (4, 64), (7.5, 128)):
        found = extend(tiny("llama"), "self-extend", factor=factor, length=length)
        settings = found.__dict__["self_extend"]
        last = int(factor * length) - 1
        assert settings.near == length // 2
        assert distance(last, 0, settings.near, settings.group) < length
        assert distance(last, 0, settings.near, settings.group - 1) >= length
        assert found.config.max_position_embeddings == factor * length


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda m: m.save_pretrained("nowhere"), "save the model that it came from"),
        (lambda m: extend(m, "yarn"), "extended already"),
        (lambda m: attach(m, lambda tokens: tokens), "a rule has no effect"),
        (lambda m: extend(tiny("llama"), "self-extend", near=200), "near must be from 1"),
        (lambda m: extend(tiny("llama"), "self-extend", attention_factor=2), "no settings but"),
        (lambda m: extend(model("gemma2"), "self-extend"), "self-extend needs full attention"),
        (lambda m: extend(model("gpt_oss"), "self-extend"), "gpt_oss|plain RoPE|full attention"),
    ],
)  # fmt: skip
def test_refusals_are_one_line(call: Any, says: str):
    with pytest.raises(LengthwiseError, match=says) as error:
        call(extend(tiny("llama"), "self-extend", near=3, group=2))
    assert "\n" not in str(error.value)
