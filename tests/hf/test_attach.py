"""A stock model with a rule generates, token by token, what a full pass per token under the rule's ids gives."""

from __future__ import annotations

import copy
import inspect
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from tiny import PAD, SEPARATOR, SHAPES, VOCAB, logits_under, padded, restarting, slow_greedy, tiny
from transformers import AutoModelForCausalLM
from transformers.modeling_outputs import CausalLMOutput

from lengthwise.hf import Restart, attach, detach

STEPS = 12
PROMPTS = [[5, 6, SEPARATOR, 7, 8, 5], [9, SEPARATOR, 4], [4, 5, 6, 7, SEPARATOR, 8, 9, 11, SEPARATOR]]


def generated(model: Any, batch: dict[str, torch.Tensor], **settings: Any) -> list[list[int]]:
    settings = {"max_new_tokens": STEPS, "do_sample": False, **settings}
    found = model.generate(**batch, **settings)
    return found[:, batch["input_ids"].shape[1] :].tolist()


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("kind", SHAPES)
def test_generation_is_that_of_a_full_pass_per_token(kind: str, attention: str):
    plain = tiny(kind, attention)
    expected = [slow_greedy(plain, prompt, restarting, STEPS) for prompt in PROMPTS]
    unruled = generated(plain, padded(PROMPTS))
    assert expected != unruled, "the ids must matter"
    model = attach(tiny(kind, attention), Restart(SEPARATOR))
    for prompt, right in zip(PROMPTS, expected, strict=True):
        assert generated(model, padded([prompt])) == [right]
        assert generated(model, padded([prompt]), use_cache=False) == [right]
        assert generated(model, {"input_ids": torch.tensor([prompt])}, cache_implementation="static") == [right]
    assert generated(model, padded(PROMPTS)) == expected
    assert generated(model, padded(PROMPTS), use_cache=False) == expected
    assert generated(model, padded(PROMPTS), cache_implementation="static") == expected


@pytest.mark.parametrize("kind", SHAPES)
def test_forward_and_teacher_forcing(kind: str):
    plain, model = tiny(kind), attach(tiny(kind), restarting)
    for batch in (padded(PROMPTS), padded(PROMPTS, left=False)):
        found = model(**batch).logits
        for row, prompt in enumerate(PROMPTS):
            tokens = torch.tensor([prompt])
            right = logits_under(plain, tokens, restarting(tokens))[0]
            assert torch.allclose(found[row][batch["attention_mask"][row].bool()], right, atol=1e-3)
    tokens = torch.tensor([PROMPTS[2]])
    alone = model(tokens).logits
    assert torch.allclose(alone, logits_under(plain, tokens, restarting(tokens)), atol=1e-3)


@pytest.mark.parametrize("kind", SHAPES)
def test_gradients_are_those_of_the_ids(kind: str):
    plain, model = tiny(kind).train(), attach(tiny(kind).train(), restarting)
    tokens = torch.tensor([PROMPTS[2]])
    for each, given in ((plain, {"position_ids": restarting(tokens)}), (model, {})):
        each.config.use_cache = False
        torch.manual_seed(0)
        mask = torch.ones_like(tokens)
        each.zero_grad()
        each(tokens, labels=tokens, attention_mask=mask, **given).loss.backward()
    pairs = list(zip(plain.parameters(), model.parameters(), strict=True))
    if kind != "gpt2":  # GPT-2 drops out in training
        assert all(torch.allclose(a.grad, b.grad, atol=1e-4) for a, b in pairs)


def over_full_passes(kind: str) -> Any:
    """The same model, of which `generate` gets logits of full passes of single rows under the rule's ids only."""
    plain = tiny(kind)

    class Full(type(plain)):
        def forward(self, input_ids: Any = None, attention_mask: Any = None, **_: Any) -> Any:
            rows = [tokens[mask.bool()][None] for tokens, mask in zip(input_ids, attention_mask, strict=True)]
            logits = [logits_under(plain, tokens, restarting(tokens))[:, -1:] for tokens in rows]
            return CausalLMOutput(logits=torch.cat(logits))

        def prepare_inputs_for_generation(self, input_ids: Any, attention_mask: Any = None, **_: Any) -> Any:
            return {"input_ids": input_ids, "attention_mask": attention_mask}

    return Full(plain.config).eval()


@pytest.mark.parametrize("beams", [2, 3])
@pytest.mark.parametrize("kind", SHAPES)
def test_beams_of_padded_rows_are_those_of_full_passes(kind: str, beams: int):
    settings = {"num_beams": beams, "num_return_sequences": 2}
    expected = generated(over_full_passes(kind), padded(PROMPTS), use_cache=False, **settings)
    for cached in (True, False):
        found = generated(attach(tiny(kind), Restart(SEPARATOR)), padded(PROMPTS), use_cache=cached, **settings)
        assert found == expected
    assert generated(tiny(kind), padded(PROMPTS), **settings) != expected, "the ids must matter"


@pytest.mark.parametrize("kind", SHAPES)
def test_several_sampled_sequences(kind: str):
    settings = {"do_sample": True, "num_return_sequences": 3}
    found = []
    for model, cached in (
        (attach(tiny(kind), Restart(SEPARATOR)), True),
        (attach(tiny(kind), Restart(SEPARATOR)), False),
        (over_full_passes(kind), False),
    ):
        torch.manual_seed(1)
        found.append(generated(model, padded(PROMPTS), use_cache=cached, **settings))
    assert found[0] == found[1] == found[2]
    assert len({tuple(row) for row in found[0]}) > 3


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("kind", SHAPES)
def test_lora_on_top(kind: str, before: bool):
    targets = {"gpt2": ["c_attn"], "gpt_neox": ["query_key_value"]}.get(kind, ["q_proj", "v_proj"])

    def wrapped(model: Any) -> Any:
        torch.manual_seed(3)
        return get_peft_model(model, LoraConfig(target_modules=targets, init_lora_weights=False, fan_in_fan_out=False))

    plain = wrapped(tiny(kind)).eval()
    expected = [slow_greedy(plain, prompt, restarting, STEPS) for prompt in PROMPTS]
    model = wrapped(attach(tiny(kind), restarting)) if before else attach(wrapped(tiny(kind)), restarting)
    model.eval()
    assert generated(model, padded(PROMPTS)) == expected
    assert generated(model, padded(PROMPTS), use_cache=False) == expected
    assert generated(detach(model), padded(PROMPTS)) == generated(plain, padded(PROMPTS))


@pytest.mark.parametrize("kind", SHAPES)
def test_detach_restores_the_model_bit_for_bit(kind: str):
    def state(model: Any) -> list[Any]:
        names = [name for name in vars(model) if "hooks" in name]
        hooks = [[len(getattr(module, name)) for name in names] for module in model.modules()]
        return [sorted(model.__dict__), hooks]

    model = tiny(kind)
    before, weights = state(model), {name: value.clone() for name, value in model.state_dict().items()}
    tokens = torch.tensor([PROMPTS[0]])
    logits = model(tokens).logits
    attach(model, restarting)
    generated(model, padded(PROMPTS))
    assert not torch.equal(model(tokens).logits, logits)
    assert detach(model) is model
    assert state(model) == before
    assert torch.equal(model(tokens).logits, logits)
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())


def test_a_copy_of_the_model_has_its_own_rule():
    model = attach(tiny("llama"), restarting)
    other = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    expected = slow_greedy(tiny("llama"), PROMPTS[0], restarting, STEPS)
    assert generated(other, padded([PROMPTS[0]])) == [expected]
    detach(model)
    assert generated(other, padded([PROMPTS[0]])) == [expected]


@pytest.mark.parametrize("kind", SHAPES)
def test_an_attached_model_is_saved_as_the_stock_model_that_it_is(kind: str, tmp_path: Path):
    model = attach(tiny(kind), restarting)
    model.save_pretrained(tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    assert generated(loaded, padded(PROMPTS)) == generated(tiny(kind), padded(PROMPTS))
    assert generated(attach(loaded, restarting), padded(PROMPTS)) == generated(model, padded(PROMPTS))


def test_two_attached_models_of_different_classes_keep_their_signatures():
    models = [attach(tiny(kind), restarting) for kind in SHAPES]
    for model in models:
        for name in ("generate", "prepare_inputs_for_generation"):
            own, right = getattr(model, name), getattr(type(model), name)
            assert own.__wrapped__ is right
            assert [*inspect.signature(own).parameters] == [*inspect.signature(right).parameters][1:]


def test_generation_continues_a_cache():
    model, prompt = attach(tiny("llama"), restarting), torch.tensor([PROMPTS[0]])
    settings = {"do_sample": False, "return_dict_in_generate": True}
    first = model.generate(prompt, max_new_tokens=4, **settings)
    # Without a mask, a generated token that equals the padding would be taken for it.
    mask = torch.ones_like(first.sequences)
    rest = model.generate(
        first.sequences,
        attention_mask=mask,
        past_key_values=first.past_key_values,
        max_new_tokens=STEPS - 4,
        **settings,
    )
    assert rest.sequences[0, 6:].tolist() == slow_greedy(tiny("llama"), PROMPTS[0], restarting, STEPS)


def test_vocabulary_of_these_tests():
    assert max(max(prompt) for prompt in PROMPTS) < VOCAB
    assert PAD not in {token for prompt in PROMPTS for token in prompt}


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_threads_do_not_see_each_other_s_ids(kind: str):
    model = attach(tiny(kind), Restart(SEPARATOR))
    alone = {tuple(prompt): model(torch.tensor([prompt])).logits for prompt in PROMPTS}
    right = {tuple(prompt): generated(model, padded([prompt])) for prompt in PROMPTS}

    def one(number: int) -> bool:
        prompt = PROMPTS[number % len(PROMPTS)]
        if number % 4 == 0:
            return generated(model, padded([prompt])) == right[tuple(prompt)]
        with torch.no_grad():
            return torch.equal(model(torch.tensor([prompt])).logits, alone[tuple(prompt)])

    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(one, range(240)))
