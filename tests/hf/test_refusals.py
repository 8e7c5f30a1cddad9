"""What can't follow a rule is refused in one line that says the way out; every known architecture can be attached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from peft import PromptTuningConfig, TaskType, get_peft_model
from tiny import COMMON, GROUPED, SEPARATOR, VOCAB, logits_under, restarting, slow_greedy, tiny
from torch import nn
from transformers import (
    CONFIG_MAPPING,
    AutoModelForCausalLM,
    BertConfig,
    BertModel,
    T5Config,
    T5ForConditionalGeneration,
)

import lengthwise as lw
from lengthwise.core.errors import LengthwiseError
from lengthwise.hf import CoupledPlaces, Interpolated, attach, detach

TOKENS = torch.tensor([[5, 6, SEPARATOR, 7]])
PLAIN = torch.arange(4)[None]


def attached(kind: str = "llama") -> Any:
    return attach(tiny(kind), restarting)


def continued(model: Any) -> Any:
    cache = model(TOKENS, use_cache=True).past_key_values
    return model(TOKENS[:, -1:], past_key_values=cache)


def only_new_tokens(model: Any) -> Any:
    cache = model(TOKENS, use_cache=True).past_key_values
    return model.generate(TOKENS[:, -1:], past_key_values=cache, attention_mask=torch.ones(1, 5), max_new_tokens=2)


def plain_ids(tokens: torch.Tensor) -> torch.Tensor:
    return torch.arange(tokens.shape[1]).expand(tokens.shape)


def with_ruled_backbone(model: Any) -> Any:
    attach(model.model, restarting)
    return model


def ruled(rule: Any, kind: str = "llama") -> Callable[[], Any]:
    return lambda: attach(tiny(kind), rule).generate(TOKENS, max_new_tokens=4, do_sample=False)


def placeless() -> Any:
    """A task as a newcomer writes it: no token has a place."""

    @lw.config
    class Last(lw.Task):
        summary = "the last symbol again"
        tokens = ("a", "b")

        def write(self, seq: Any, layout: Any, rng: Any) -> None:
            symbols = rng.integers(2, size=(layout.length, seq.size)) + self.vocab["a"]
            seq.bos()
            given = [seq.given(column) for column in symbols]
            seq.sep()
            seq.predicted(symbols[-1], parents=given[-1:])
            seq.eos()

        def answer(self, prompt: Any) -> list[str]:
            return [prompt[-2], "<eos>"]

    return Last()


def test_a_structure_without_places_says_where_some_are_found() -> None:
    found = lw.structure(placeless(), "coupled")
    assert "states no places" in found.note
    assert "lw.couple" in str(found.table())
    assert lw.structure(placeless()).note == lw.structure("copy", "coupled").note == ""
    assert "no token has parents" in lw.structure("(ab)*").note


CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "twice": (lambda: attach(attached(), restarting), "has a rule already"),
    "not attached": (lambda: detach(tiny("llama")), "has no rule"),
    "name of places": (lambda: attach(tiny("llama"), cast(Any, "Coupled")), "hf.CoupledPlaces(task), got 'Coupled'"),
    "name of ids": (lambda: attach(tiny("llama"), cast(Any, "pose")), "such as hf.SchemeIds('pose'), got 'pose'"),
    "no places": (lambda: CoupledPlaces(placeless()), "states no places, so that all ids would be 0; `lw.couple("),
    "no rule": (lambda: attach(tiny("llama"), cast(Any, "restart")), "a rule is a function"),
    "no model": (lambda: attach(nn.Linear(2, 2), restarting), "got Linear"),
    "encoder-decoder": (
        lambda: attach(
            T5ForConditionalGeneration(T5Config(vocab_size=9, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)),
            restarting,
        ),
        "a causal model",
    ),
    "encoder": (
        lambda: attach(
            BertModel(
                BertConfig(hidden_size=8, num_attention_heads=2, intermediate_size=8, num_hidden_layers=1, vocab_size=9)
            ),
            restarting,
        ),
        "BertModel is an encoder",
    ),
    "embeddings": (lambda: attached()(inputs_embeds=torch.zeros(1, 3, 32)), "inputs_embeds"),
    "embeddings in generate": (
        lambda: attached().generate(inputs_embeds=torch.zeros(1, 3, 32), max_new_tokens=2),
        "inputs_embeds",
    ),
    "other ids": (lambda: attached()(TOKENS, position_ids=PLAIN + 3), "leave them out"),
    "packed": (lambda: attached()(TOKENS, position_ids=torch.tensor([[0, 1, 0, 1]])), "packed sequences"),
    "other ids in generate": (
        lambda: attached().generate(TOKENS, position_ids=PLAIN + 3, max_new_tokens=2),
        "leave them out",
    ),
    "chunked prefill": (lambda: attached().generate(TOKENS, prefill_chunk_size=2, max_new_tokens=2), "chunked prefill"),
    "assistant": (
        lambda: attached().generate(TOKENS, assistant_model=tiny("llama"), max_new_tokens=2),
        "assisted decoding",
    ),
    "prompt lookup": (
        lambda: attached().generate(TOKENS, prompt_lookup_num_tokens=2, max_new_tokens=2),
        "prompt lookup",
    ),
    "continuous batching": (lambda: attached().generate_batch([[5, 6]]), "continuous batching"),
    "a loop with a cache": (lambda: continued(attached()), "use_cache=False"),
    "only new tokens": (lambda: only_new_tokens(attached()), "pass all tokens"),
    "floats for a table": (ruled(Interpolated(2.0), "gpt2"), "integer ids"),
    "ids above the table": (ruled(lambda tokens: torch.full_like(tokens, 128), "gpt2"), "0..127"),
    "ids below the table": (ruled(lambda tokens: torch.full_like(tokens, -1), "gpt2"), "0..127"),
    "no tensor": (ruled(lambda tokens: tokens.tolist()), "one position id per token"),
    "wrong shape": (ruled(lambda tokens: tokens[0]), "shape [1, 4]"),
    "booleans": (ruled(lambda tokens: tokens > 3), "integers or floats"),
    "not causal": (
        ruled(lambda tokens: torch.arange(tokens.shape[1]).flip(0).expand(tokens.shape)),
        "more tokens follow",
    ),
    "no rows": (lambda: attached()(torch.zeros(0, 5, dtype=torch.long)), "has no tokens to number"),
    "no tokens": (lambda: attached()(torch.zeros(2, 0, dtype=torch.long)), "has no tokens to number"),
    "not finite": (ruled(lambda tokens: tokens / 0.0), "not finite"),
    "a jump at the fifth token": (
        ruled(lambda tokens: plain_ids(tokens) + (tokens.shape[1] > 4)),
        "more tokens follow",
    ),
    "random": (ruled(lambda tokens: torch.rand(tokens.shape)), "more tokens follow"),
    "by the other rows": (
        lambda: attach(tiny("llama"), lambda tokens: plain_ids(tokens) + tokens[0, 0]).generate(
            torch.tensor([[5, 6, 7, 8], [6, 5, 7, 8]]), max_new_tokens=2
        ),
        "rows beside it",
    ),
    "a rule on a part of the model": (lambda: attach(attached().model, restarting), "has a rule already"),
    "a rule on a part of the model first": (
        lambda: attach(with_ruled_backbone(tiny("llama")), restarting),
        "has a rule already",
    ),
    "detached twice": (lambda: detach(detach(attached())), "has no rule"),
    "no such module": (lambda: attach(tiny("llama"), restarting, module="model.rotary"), "no module 'model.rotary'"),
    "prompt tuning": (
        lambda: attach(
            get_peft_model(tiny("llama"), PromptTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=2)),
            restarting,
        ),
        "use LoRA",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_refusals_are_one_line(name: str):
    case, says = CASES[name]
    with pytest.raises(LengthwiseError) as error:
        case()
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def of_type(kind: str) -> Any:
    """A tiny model of any type, by the names that most configurations share."""
    torch.manual_seed(0)
    names = {"head_dim": 8, "num_key_value_heads": 2, "layer_norm_eps": 1e-5, "num_local_experts": 2, "rotary_dim": 4}
    settings = {**COMMON, **GROUPED, **names, "vocab_size": VOCAB, "max_position_embeddings": 64}
    config = CONFIG_MAPPING[kind](**settings)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(5)
    return model


@pytest.mark.parametrize("kind", ["gemma3_text", "gpt_bigcode", "gptj", "olmo2", "opt", "phi3", "xglm"])
def test_every_known_architecture_follows_a_rule(kind: str):
    prompt = TOKENS[0].tolist()
    plain = of_type(kind)
    expected = slow_greedy(plain, prompt, restarting, 5)
    model = attach(of_type(kind), restarting)
    right = logits_under(plain, TOKENS, restarting(TOKENS))
    assert torch.allclose(model(TOKENS).logits, right, atol=1e-3)
    assert not torch.allclose(plain(TOKENS).logits, right, atol=1e-3)
    for cached in (True, False):
        found = model.generate(TOKENS, max_new_tokens=5, do_sample=False, use_cache=cached)
        assert found[0, 4:].tolist() == expected


@pytest.mark.parametrize(
    ("kind", "name", "says"),
    [
        ("llama", "model.embed_tokens", "gets no position ids; those that do: 'model.rotary_emb'"),
        ("llama", "model.norm", "gets no position ids"),
        ("llama", "model.layers.0.self_attn.q_proj", "gets no position ids"),
        ("gpt2", "transformer.wte", "gets no position ids"),
        ("bloom", None, "no module of BloomForCausalLM gets the position ids"),
    ],
)
def test_modules_that_do_not_encode_positions_are_refused(kind: str, name: str | None, says: str):
    with pytest.raises(LengthwiseError) as error:
        attach(of_type(kind) if kind == "bloom" else tiny(kind), restarting, module=name)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("kind", "name"), [("opt", "model.decoder.embed_positions"), ("xglm", "model.embed_positions")]
)
def test_a_named_module_with_a_signature_of_its_own(kind: str, name: str):
    """The report: the output was that of the plain model, or an AttributeError."""
    plain = of_type(kind)
    model = attach(of_type(kind), restarting, module=name)
    assert torch.allclose(model(TOKENS).logits, logits_under(plain, TOKENS, restarting(TOKENS)), atol=1e-3)
    assert not torch.allclose(model(TOKENS).logits, plain(TOKENS).logits, atol=1e-3)
