"""What goes wrong with a stock model that is simply given ids of one's own, and that `attach` is safe from it.

Each test first shows the trap with the ids passed as ``position_ids``. If one of these first halves fails, the trap is
gone from transformers, and its protection with it.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tiny import SEPARATOR, SHAPES, logits_under, restarting, slow_greedy, tiny
from transformers import AttentionInterface, LlamaConfig, LlamaForCausalLM
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.modeling_flash_attention_utils import _is_packed_sequence

from lengthwise.core.errors import LengthwiseError
from lengthwise.hf import Restart, SchemeIds, attach

TOKENS = torch.tensor([[5, 6, SEPARATOR, 7, 8, SEPARATOR, 4, 9]])


@pytest.mark.parametrize("kind", SHAPES)
def test_1_steps_other_than_one_are_taken_for_packed_sequences(kind: str):
    """Trap 1: without mask and cache, attention is cut at every restart."""
    ids, plain = restarting(TOKENS), tiny(kind)
    right = logits_under(plain, TOKENS, ids)
    with torch.no_grad():
        cut = plain(TOKENS, position_ids=ids, use_cache=False).logits
        assert not torch.allclose(cut, right, atol=1e-2), "the trap is gone"
        ruled = attach(tiny(kind), Restart(SEPARATOR))(TOKENS, use_cache=False).logits
    assert torch.allclose(ruled, right, atol=1e-3)


@pytest.mark.parametrize("kind", ["llama", "gpt_neox", "qwen2"])
def test_1_generation_adds_one_and_drops_the_mask(kind: str):
    """Trap 1 in `generate`: cached and uncached generation differ from each other, or from the rule."""
    ids, plain, steps = restarting(TOKENS), tiny(kind), 12
    right = slow_greedy(plain, TOKENS[0].tolist(), restarting, steps)

    def run(model: Any, cached: bool, **given: torch.Tensor) -> list[int]:
        found = model.generate(TOKENS, max_new_tokens=steps, do_sample=False, use_cache=cached, **given)
        return found[0, TOKENS.shape[1] :].tolist()

    try:
        found = run(plain, False, position_ids=ids)
    except RuntimeError:
        found = None  # transformers 5.0 does not even make ids for the new tokens
    assert found != right, "the trap is gone"
    model = attach(tiny(kind), Restart(SEPARATOR))
    assert run(model, True) == run(model, False) == right


def test_2_flash_attention_reads_the_ids_of_a_single_row():
    """Trap 2: the ids that attention functions get decide whether FlashAttention cuts the row."""
    seen: list[torch.Tensor] = []

    def spying(module: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(kwargs["position_ids"])
        return sdpa_attention_forward(module, *args, **{k: v for k, v in kwargs.items() if k != "position_ids"})

    # Under the name of a function that has a mask, as FlashAttention has one.
    original = AttentionInterface._global_mapping["sdpa"]
    AttentionInterface._global_mapping["sdpa"] = spying
    try:
        plain, ids = tiny("llama"), restarting(TOKENS)
        plain(TOKENS, position_ids=ids)
        assert _is_packed_sequence(seen[-1], 1), "the trap is gone"
        attach(plain, restarting)
        seen.clear()
        plain(TOKENS)
        assert not _is_packed_sequence(seen[-1], 1)
        plain.generate(TOKENS, max_new_tokens=3, do_sample=False)
        assert not any(_is_packed_sequence(ids, 1) for ids in seen)
    finally:
        AttentionInterface._global_mapping["sdpa"] = original


def test_3_attention_functions_without_a_mask_see_the_future():
    """Trap 3: a function that is registered only as attention gets no mask."""
    AttentionInterface.register("unmasked", _eager)
    model = tiny("llama", "unmasked")
    later = TOKENS.clone()
    later[0, -1] = 11
    assert not torch.allclose(model(TOKENS).logits[0, 0], model(later).logits[0, 0], atol=1e-3), "the trap is gone"
    with pytest.raises(LengthwiseError, match="attention function 'unmasked' has no mask function"):
        attach(model, restarting)
    switched = attach(tiny("llama"), restarting)
    switched.config._attn_implementation = "unmasked"
    with pytest.raises(LengthwiseError, match="attention function 'unmasked' has no mask function"):
        switched(TOKENS)


def _eager(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: float, **_: Any) -> Any:
    key, value = (each.repeat_interleave(module.num_key_value_groups, dim=1) for each in (key, value))
    scores = query @ key.mT * scaling
    scores = scores if attention_mask is None else scores + attention_mask
    return (scores.softmax(-1) @ value).transpose(1, 2).contiguous(), None


@pytest.mark.parametrize("scaling", ["dynamic", "longrope"])
def test_4_rotary_scalings_read_the_length_from_the_ids(scaling: str):
    """Trap 4: large ids change the frequencies of all tokens."""
    rope: dict[str, Any] = {"rope_type": scaling, "rope_theta": 10000.0, "factor": 4.0}
    if scaling == "longrope":
        rope |= {"short_factor": [1.0] * 4, "long_factor": [3.0] * 4, "original_max_position_embeddings": 16}
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=13, hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4,
        max_position_embeddings=16, rope_parameters=rope,
    )).eval()  # fmt: skip
    before = model.model.rotary_emb.inv_freq.clone()
    model(TOKENS, position_ids=torch.arange(8)[None] + 40, attention_mask=torch.ones_like(TOKENS))
    assert not torch.equal(model.model.rotary_emb.inv_freq, before), "the trap is gone"
    with pytest.raises(LengthwiseError, match=f"rotary scaling '{scaling}' reads the length") as error:
        attach(model, SchemeIds("pose", max_position=100))
    assert "\n" not in str(error.value)
