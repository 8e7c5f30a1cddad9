"""Our transformer as a `PreTrainedModel`: the same tokens and ids as our own generator, saved, loaded and adapted."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, GenerationConfig

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.experiments.run import run_seed
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.trained import load_trained
from lengthwise.hf import (
    LengthwiseConfig,
    LengthwiseForCausalLM,
    collate,
    decode,
    encode_prompt,
    from_run,
    model_card,
    save_with_card,
    to_run,
)
from lengthwise.hf.own import most_tokens
from lengthwise.models.config import ModelConfig
from lengthwise.models.generate import generate
from lengthwise.models.inputs import Inputs
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES
from lengthwise.training.trainer import run_losses

TINY = ModelConfig(layers=2, heads=2, width=16, log_length=20)


def experiment(
    task: str = "variable-assignment", scheme: Any = None, encoding: str = "rope", **model: Any
) -> RunConfig:
    scheme = scheme or {"name": "predictive-coupling", "max_position": 400}
    scheme = {"name": scheme} if isinstance(scheme, str) else scheme
    found = RunConfig.from_json({"task": {"name": task}, "scheme": scheme, "encoding": {"name": encoding}})
    return dataclasses.replace(found, model=dataclasses.replace(TINY, **model))


def made(found: RunConfig) -> LengthwiseForCausalLM:
    model = LengthwiseForCausalLM(LengthwiseConfig.of(found)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(6)
    # Random weights say <eos> at times, which would end the comparison.
    model.generation_config.eos_token_id = None
    return model


def own(model: LengthwiseForCausalLM, batch: Any, ids: torch.Tensor, steps: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens and ids by our own generator, row by row and one step at a time, so that <eos> does not end it."""
    prompt = batch.prompt_length
    tokens, places = torch.from_numpy(batch.input_ids[:, :prompt]), ids[:, :prompt]
    for _ in range(steps):
        new = generate(model.transformer, tokens, places, 1)
        tokens, places = torch.cat([tokens, new.tokens], 1), torch.cat([places, new.ids], 1)
    return tokens, places


def ids_of(found: RunConfig, batch: Any) -> torch.Tensor:
    return torch.from_numpy(found.scheme.assign(batch.places, found.task.levels, stream(0, "test", "ids")))


@pytest.mark.parametrize("head", ["classification", "pointer"])
@pytest.mark.parametrize("lines", [6, 160])
def test_predicted_ids_are_those_of_our_own_generator(head: str, lines: int):
    found = experiment(id_head=head)
    model = made(found)
    batch = found.task.batch(lines, 2, stream(0, "test"))
    prompt, ids = batch.prompt_length, ids_of(found, batch)
    steps = 12
    tokens, places = own(model, batch, ids, steps)
    for cached in (True, False):
        result = model.generate(
            torch.from_numpy(batch.input_ids[:, :prompt]), place_ids=ids[:, :prompt], max_new_tokens=steps,
            do_sample=False, use_cache=cached,
        )  # fmt: skip
        assert torch.equal(result, tokens)
    spied: list[torch.Tensor] = []
    plain = model._update_model_kwargs_for_generation
    model._update_model_kwargs_for_generation = lambda *a, **k: (spied.append(a[0].next_place_ids), plain(*a, **k))[1]
    for cached in (True, False):
        spied.clear()
        model.generate(
            tokens[:, :prompt], place_ids=ids[:, :prompt], max_new_tokens=steps, do_sample=False, use_cache=cached
        )
        assert torch.equal(torch.stack(spied, 1), places[:, prompt:])


@pytest.mark.parametrize(
    ("encoding", "head"), [*((encoding, "classification") for encoding in sorted(ENCODINGS)), ("rope", "pointer")]
)
def test_padding_in_front_changes_nothing(encoding: str, head: str):
    found = experiment(encoding=encoding, id_head=head)
    model = made(found)
    batches = [found.task.batch(lines, 1, stream(0, "test", lines)) for lines in (3, 5, 9)]
    width, steps = max(batch.prompt_length for batch in batches), 8
    rows, mask, ids, expected = [], [], [], []
    for batch in batches:
        own_ids, prompt = ids_of(found, batch), batch.prompt_length
        tokens, _ = own(model, batch, own_ids, steps)
        expected.append(tokens[0, prompt:].tolist())
        pad = width - prompt
        rows.append([0] * pad + batch.input_ids[0, :prompt].tolist())
        mask.append([0] * pad + [1] * prompt)
        ids.append(torch.cat([torch.zeros(pad, own_ids.shape[2], dtype=torch.long), own_ids[0, :prompt]]))
    for cached in (True, False):
        result = model.generate(
            torch.tensor(rows), attention_mask=torch.tensor(mask), place_ids=torch.stack(ids), max_new_tokens=steps,
            do_sample=False, use_cache=cached,
        )  # fmt: skip
        assert result[:, width:].tolist() == expected


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("head", ["classification", "pointer"])
def test_padding_changes_neither_loss_nor_gradients(head: str, left: bool):
    found = experiment(id_head=head)
    model, rows = made(found), []
    for lines in (3, 5, 9):
        batch = found.task.batch(lines, 1, stream(0, "test", lines))
        rows.append(
            {
                "input_ids": batch.input_ids[0].tolist(),
                "labels": batch.labels[0].tolist(),
                "place_ids": ids_of(found, batch)[0].tolist(),
            }
        )
    together = model(**collate(left=left)(rows), num_items_in_batch=1).loss
    together.backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    model.zero_grad()
    total = sum(model(**collate()([row]), num_items_in_batch=1).loss for row in rows)
    total.backward()
    assert torch.allclose(together, total, rtol=1e-4)
    for one, parameter in zip(gradients, model.parameters(), strict=True):
        assert one is not None
        assert torch.allclose(one, parameter.grad, rtol=1e-3, atol=1e-3 * float(parameter.grad.abs().max()))


@pytest.mark.parametrize(
    "scheme", ["sequential", "randomized", "pose", {"name": "coupled", "draw": "contiguous"}, {"name": "coupled"}]
)
def test_ids_that_follow_from_the_tokens_need_not_be_given(scheme: Any):
    found = experiment("addition", scheme, "learned")
    model = made(found)
    batch = found.task.batch(4, 3, stream(0, "test"))
    prompt = torch.from_numpy(batch.input_ids[:, : batch.prompt_length])
    results = [
        model.generate(prompt, max_new_tokens=6, do_sample=False, use_cache=cached, **more)
        for cached in (True, False)
        for more in ({}, {"attention_mask": torch.ones_like(prompt)})
    ]
    assert all(torch.equal(result, results[0]) for result in results)
    tokens = prompt
    for step in range(6):
        ids = model.place_ids(tokens, more=6 - step)
        tokens = torch.cat([tokens, model.transformer(tokens, ids).logits[:, -1:].argmax(-1)], 1)
    assert torch.equal(tokens, results[0])


NUMBERED = [name for name in SCHEMES if not SCHEMES.get(name).uses_places]


@pytest.mark.parametrize("name", NUMBERED)
def test_ids_at_test_are_those_of_our_own_tests(name: str):
    """In rows of several lengths, and whole or as a prompt with its answer to come."""
    room = {} if SCHEMES.get(name).wraps else {"max_position": 99}
    found = experiment("addition", {"name": name, **room}, "learned")
    model, scheme = made(found), found.scheme.for_evaluation()
    for length in (4, 30):
        batch = found.task.batch(length, 2, stream(0, "test", length))
        own = Inputs.of(batch, scheme, found.task.levels, stream(0, "hf", "evaluation")).position_ids[:1]
        tokens, prompt = torch.from_numpy(batch.input_ids), batch.prompt_length
        assert torch.equal(model.place_ids(tokens), own.expand(2, -1, -1))
        given = model.place_ids(tokens[:, :prompt], more=batch.tokens - prompt)
        assert torch.equal(given, own[:, :prompt].expand(2, -1, -1))
        # Padding in front of a shorter row beside it changes nothing.
        pad = torch.zeros(2, 5, dtype=torch.long)
        padded, mask = torch.cat([pad, tokens], 1), torch.cat([pad, torch.ones_like(tokens)], 1)
        assert torch.equal(model.place_ids(padded, mask)[:, 5:], own.expand(2, -1, -1))


@pytest.mark.parametrize(
    ("settings", "most"),
    [({"max_new_tokens": 7}, 12), ({"max_length": 9}, 9), ({}, 25), ({"max_new_tokens": 1, "max_length": 9}, 6)],
)
def test_the_width_of_a_batch_at_the_end_of_its_generation(settings: dict[str, int], most: int):
    tokens = torch.ones(1, 5, dtype=torch.long)
    plain, set_ = GenerationConfig(), GenerationConfig(**settings)
    assert most_tokens(plain, plain, (tokens,), settings) == most
    assert most_tokens(set_, plain, (), {"input_ids": tokens}) == most
    assert most_tokens(plain, set_, (), {"input_ids": tokens}) == most
    assert most_tokens(set_, plain, (), {}) == (most if settings.get("max_length") == most else most - 4)
    seen = experiment("addition", {"name": "randomized", "max_position": 99}, "nope")
    model = made(seen)
    assert model.generate(tokens, do_sample=False, **settings).shape[1] == most
    if settings:
        config = GenerationConfig(**settings, do_sample=False)
        assert torch.equal(model.generate(tokens, config), model.generate(tokens, generation_config=config))


@pytest.mark.parametrize(
    ("task", "head"),
    [
        ("variable-assignment", "classification"),
        ("variable-assignment", "pointer"),
        ("parity", "classification"),
        ("language", "classification"),
    ],
)
def test_the_loss_is_that_of_our_trainer(task: str, head: str):
    found = experiment(task, "sequential" if task == "language" else None, id_head=head)
    model = made(found)
    batch = found.task.batch(4 if task == "language" else 5, 4, stream(0, "test"))
    inputs = Inputs.of(batch, found.scheme, found.task.levels, stream(0, "test", "ids"))
    ours = run_losses(model.transformer(inputs.input_ids, inputs.position_ids, at=inputs.at), inputs, 1)
    allowed = None if batch.allowed is None else torch.from_numpy(batch.allowed)
    loss = model(
        inputs.input_ids, place_ids=inputs.position_ids, labels=torch.from_numpy(batch.labels), allowed=allowed
    ).loss
    assert torch.allclose(loss * inputs.scored, ours.token + ours.position, rtol=1e-4)


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_save_and_load(encoding: str, tmp_path: Path):
    found = experiment(encoding=encoding)
    model = made(found)
    model.save_pretrained(tmp_path)
    batch = found.task.batch(5, 2, stream(0, "test"))
    tokens, ids = torch.from_numpy(batch.input_ids), ids_of(found, batch)
    # The class that transformers finds by itself does not depend on the encoding.
    for kind in (LengthwiseForCausalLM, AutoModelForCausalLM) if encoding == "learned" else (LengthwiseForCausalLM,):
        loaded = kind.from_pretrained(tmp_path)
        assert loaded.experiment == found
        assert torch.equal(loaded(tokens, place_ids=ids).logits, model(tokens, place_ids=ids).logits)


def test_run_directories_and_back(tmp_path: Path):
    model = made(experiment())
    to_run(model, tmp_path / "run")
    found, transformer = load_trained(tmp_path / "run")
    assert found == model.experiment
    again = from_run(tmp_path / "run")
    for other in (transformer, again.transformer):
        assert all(torch.equal(a, b) for a, b in zip(model.transformer.parameters(), other.parameters(), strict=True))
    with pytest.raises(LengthwiseError, match="holds a checkpoint already"):
        to_run(model, tmp_path / "run")


def test_prompts_as_text():
    model = made(experiment())
    given = encode_prompt(model, "b 7 c 2 a b ? a")
    assert given["place_ids"].shape == (1, 9, 2)
    assert decode(model, given["input_ids"][0]) == "<bos> b 7 c 2 a b ? a"
    assert model.generate(**given, max_new_tokens=3, do_sample=False).shape == (1, 12)
    with pytest.raises(LengthwiseError, match="token ids must be in"):
        decode(model, [10**6])


def test_lora_on_top_trains_and_generates():
    model = made(experiment())
    wrapped = get_peft_model(model, LoraConfig(target_modules=["qkv", "out"], init_lora_weights=False))
    given = encode_prompt(model, "b 7 c 2 a b ? a")
    labels = given["input_ids"].clone()
    wrapped(**given, labels=labels).loss.backward()
    assert all(p.grad is not None for name, p in wrapped.named_parameters() if "lora" in name)
    results = [
        wrapped.generate(**given, max_new_tokens=5, do_sample=False, use_cache=cached) for cached in (True, False)
    ]
    assert torch.equal(*results)


def test_the_card_says_what_is_known():
    text = model_card(made(experiment("addition", "coupled")))
    assert "No length was measured." in text
    assert "| 16 | 5 | 1 |" in text
    assert "generalizes?" in text


def test_the_card_of_a_model_with_few_ids_says_where_they_end():
    text = model_card(made(experiment("addition", {"name": "sequential", "max_position": 60}, "learned")))
    assert "| 16 | 5 | 34 |" in text
    assert "| 40 | – | more ids than the 60 of this model |" in text


def test_the_card_of_a_trained_run_holds_its_measured_lengths(tmp_path: Path):
    edits = ["training.steps=1", "training.max_length=2", "training.batch_size=8", "evaluation.lengths=[2, 5]"]
    edits += ["evaluation.samples=7", "evaluation.fit_samples=8", "evaluation.unfitted_too=true"]
    found = experiment("addition", "coupled").edited(edits)
    result = run_seed(found, 3, tmp_path / "run", recipe="test", system="test")
    assert len(result.scores) >= 2
    folder = save_with_card(from_run(tmp_path / "run"), tmp_path / "model", result)
    text = (folder / "README.md").read_text()
    assert "Seed 3, exact matches." in text
    for score in result.scores:
        assert f"| {score.length} | {score.correct['exact_match']} of 7 |" in text
    assert "lengths 1 to 2" in text
    assert "No length was measured." not in text


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda m, g: m(**g, position_ids=torch.zeros(1, 9, dtype=torch.long)), "hf.collate()"),
        (lambda m, g: m.generate(**g, num_beams=2), "num_beams=1"),
        (lambda m, g: m.generate(**g, prefill_chunk_size=2), "chunked prefill"),
        (lambda m, g: m.generate(g["input_ids"], max_new_tokens=2), "encode_prompt"),
        (lambda m, g: m(g["input_ids"]), "encode_prompt"),
        (lambda m, g: m.generate(g["input_ids"], place_ids=g["place_ids"][:, 1:], max_new_tokens=2), "[B, T, L]"),
        (lambda m, g: m(inputs_embeds=torch.zeros(1, 2, 16), input_ids=None), "input_ids"),
        (lambda m, g: encode_prompt(m, "7 7 7"), "no prompt of task"),
    ],
)
def test_refusals_are_one_line(call: Any, says: str):
    model = made(experiment())
    with pytest.raises(LengthwiseError) as error:
        call(model, encode_prompt(model, "b 7 c 2 a b ? a"))
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_the_vocabulary_can_t_be_resized():
    model = made(experiment())
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for size in (5, 12, 400, None):
        with pytest.raises(LengthwiseError, match="can't be resized") as error:
            model.resize_token_embeddings(size)
        assert "\n" not in str(error.value)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
