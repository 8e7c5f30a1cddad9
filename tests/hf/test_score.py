"""`right_answers` counts what a slow loop over single problems counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from test_pretrained_model import experiment, made
from tiny import slow_greedy, tiny
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.hf import CoupledPlaces, attach, dataset, right_answers, token_ids
from lengthwise.hf.score import _generated
from lengthwise.models.generate import generate
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.kinds import drawn_of

SIZE = 12


class Lookup(torch.nn.Module):
    """Knows the right next token of the first half of the problems, by their prompts, and says <pad> otherwise."""

    def __init__(self, task: Task, lengths: list[int], right: int) -> None:
        super().__init__()
        self.known = {}
        for length in lengths:
            batch = task.batch(length, SIZE, stream(3, "test", length))
            for row in batch.input_ids[:right].tolist():
                self.known |= {tuple(row[:end]): row[end] for end in range(batch.prompt_length, len(row))}

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        logits = torch.zeros(*tokens.shape, 20)
        for index, row in enumerate(tokens.tolist()):
            logits[index, -1, self.known.get(tuple(row), 0)] = 1
        return logits


@pytest.mark.parametrize("right", [0, 5, SIZE])
def test_only_answers_without_a_mistake_count(right: int, monkeypatch: pytest.MonkeyPatch):
    task = TASKS.build("addition")
    model, oracle = tiny("llama", vocab=len(task.vocab)), Lookup(task, [1, 4], right)

    def forward(input_ids: torch.Tensor, attention_mask: Any = None, **_: Any) -> Any:
        from transformers.modeling_outputs import CausalLMOutput

        return CausalLMOutput(logits=oracle(input_ids))

    monkeypatch.setattr(model, "forward", forward)
    monkeypatch.setattr(
        model, "prepare_inputs_for_generation", lambda input_ids, attention_mask=None, **_: {"input_ids": input_ids}
    )
    assert right_answers(model, task, [1, 4], size=SIZE, seed=3) == {1: right, 4: right}


def test_counts_of_an_attached_model_are_those_of_full_passes():
    task = TASKS.build("copy")
    model, plain = (tiny("llama", vocab=len(task.vocab), seed=5) for _ in range(2))
    rule = CoupledPlaces(task)
    batch = task.batch(1, 60, stream(0, "test", 1))
    at = batch.prompt_length
    expected = 0
    for row in batch.input_ids.tolist():
        numbered = lambda rows: rule.ids(rows, torch.tensor([rows.shape[1]]), False)  # noqa: E731
        expected += slow_greedy(plain, row[:at], numbered, len(row) - at) == row[at:]
    model.train()
    assert right_answers(attach(model, rule), task, [1], size=60) == {1: expected}
    assert model.training, "the mode is what it was"


def test_a_model_that_predicts_ids_gets_those_of_the_prompt():
    model = made(experiment())
    task, scheme = model.experiment.task, model.experiment.scheme.for_evaluation()
    batch = task.batch(2, 40, stream(0, "test", 2))
    at = batch.prompt_length
    ids = torch.from_numpy(scheme.assign(batch.places, task.levels, stream(0, "prompt", "ids")))[:, :at]
    tokens = torch.from_numpy(batch.input_ids)
    own = generate(model.transformer, tokens[:, :at], ids, batch.tokens - at).tokens
    expected = int((own == tokens[:, at:]).all(1).sum())
    assert right_answers(model, task, [2], size=40) == {2: expected}


def test_several_right_answers_are_refused():
    with pytest.raises(LengthwiseError, match="several right answers"):
        right_answers(tiny("llama"), "language", [4])


def test_settings_from_the_model_s_file_change_no_answer():
    """The report: a repetition penalty in generation_config.json changed answers without a word."""
    task = TASKS.build("copy")
    model = tiny("llama", vocab=len(task.vocab), seed=5)
    batch = task.batch(2, 8, stream(0, "test", 2))
    at, steps = batch.prompt_length, batch.tokens - batch.prompt_length
    plain = lambda rows: torch.arange(rows.shape[1])[None]  # noqa: E731
    right = [slow_greedy(model, row[:at], plain, steps) for row in batch.input_ids.tolist()]
    for setting in (
        {"repetition_penalty": 5.0}, {"no_repeat_ngram_size": 1}, {"suppress_tokens": list(range(4, 10))},
        {"bad_words_ids": [[5], [6], [7]]}, {"min_new_tokens": 50}, {"forced_eos_token_id": 4}, {"max_time": 1e-9},
        {"eos_token_id": [4, 5, 6, 7, 8, 9]}, {"begin_suppress_tokens": list(range(4, 10))},
        {"do_sample": True, "top_k": 5},
        {"num_beams": 3, "length_penalty": 2.0}, {"sequence_bias": [[[5], -50.0], [[6], 50.0]]},
        {"encoder_repetition_penalty": 9.0}, {"exponential_decay_length_penalty": (0, 9.0)},
    ):  # fmt: skip
        model.generation_config = GenerationConfig(pad_token_id=0, **setting)
        assert _generated(model, model, task, batch, np.arange(len(task.vocab)))[0].tolist() == right, setting
        assert model.generation_config.to_dict() == GenerationConfig(pad_token_id=0, **setting).to_dict()


def test_logits_that_are_not_finite_are_no_right_answer_and_said(monkeypatch: pytest.MonkeyPatch):
    """NaN is the largest logit for torch: here at the right tokens, so that the answers alone look right."""
    task = TASKS.build("addition")
    model, oracle = tiny("llama", vocab=len(task.vocab)), Lookup(task, [1, 4], SIZE)

    def forward(input_ids: torch.Tensor, attention_mask: Any = None, **_: Any) -> Any:
        from transformers.modeling_outputs import CausalLMOutput

        logits = oracle(input_ids)
        return CausalLMOutput(
            logits=torch.where(logits > 0, float("nan"), logits) if input_ids.shape[1] > 8 else logits
        )

    monkeypatch.setattr(model, "forward", forward)
    monkeypatch.setattr(
        model, "prepare_inputs_for_generation", lambda input_ids, attention_mask=None, **_: {"input_ids": input_ids}
    )
    with pytest.warns(UserWarning, match="length 4: 12 of 12 strings have logits that are NaN or infinite"):
        assert right_answers(model, task, [1, 4], size=SIZE, seed=3) == {1: SIZE, 4: 0}


@pytest.mark.parametrize("attached", [True, False])
def test_a_model_with_tokens_of_its_own_is_asked_in_them(attached: bool):
    """The report: ids of the task were asked of a model with others, and one without padding was called too small."""
    task = TASKS.build("copy")
    vocab = [name for name in task.vocab.tokens if name not in ("<pad>", "<sep>")]
    numbers = {name: len(vocab) - 1 - index for index, name in enumerate(vocab)} | {"<sep>": len(vocab)}
    model, plain = (tiny("llama", vocab=len(vocab) + 1, seed=5) for _ in range(2))
    rule = CoupledPlaces(task, token_ids=numbers)
    batch = task.batch(1, 60, stream(0, "test", 1))
    numbered = lambda rows: rule.ids(rows, torch.tensor([rows.shape[1]]), False)  # noqa: E731
    plainly = lambda rows: torch.arange(rows.shape[1])[None]  # noqa: E731
    at, expected = batch.prompt_length, 0
    for row in range(60):
        tokens = [numbers[name] for name in batch.text(row)]
        found = slow_greedy(plain, tokens[:at], numbered if attached else plainly, len(tokens) - at)
        expected += found == tokens[at:]
    if attached:
        assert right_answers(attach(model, rule), task, [1], size=60) == {1: expected}
    else:
        assert right_answers(model, task, [1], size=60, token_ids=numbers) == {1: expected}
        with pytest.raises(LengthwiseError, match="or right_answers the model's token_ids"):
            right_answers(model, task, [1])


@pytest.mark.parametrize("kind", ["both numbers have leading zeros", "the digits are sorted"])
def test_problems_of_a_kind_are_counted_alone(kind: str):
    task = TASKS.build("addition")
    batch = drawn_of(task, 5, SIZE, kind, stream(3, "test", 5))
    prompts = [task.vocab.decode(row[: batch.prompt_length].tolist()) for row in batch.input_ids]
    if kind in task.kinds:
        assert all(task.of_kind(kind, prompt) for prompt in prompts)
    else:
        numbers = [[t for t in prompt[1:-1] if t != "+"] for prompt in prompts]
        assert all(each in (sorted(each), sorted(each)[::-1]) for each in numbers)
    assert all(task.solve(prompt) == task.vocab.decode(row[batch.prompt_length :].tolist())
               for prompt, row in zip(prompts, batch.input_ids, strict=True))  # fmt: skip
    model = tiny("llama", vocab=len(task.vocab))
    assert set(right_answers(model, task, [5], size=SIZE, kind=kind)) == {5}
    with pytest.raises(LengthwiseError, match="names no kind 'odd'"):
        right_answers(model, task, [5], kind="odd")


def test_the_token_ids_of_a_loaded_model_are_those_of_its_rule() -> None:
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=60, **sizes))
    with pytest.raises(LengthwiseError, match="no CoupledPlaces is attached"):
        token_ids(model)
    mine = {
        token: 20 + at for at, token in enumerate(TASKS.build("addition").vocab.ids) if token not in ("<pad>", "<sep>")
    }
    rule = CoupledPlaces("addition", "coupled", token_ids=mine)
    found = token_ids(attach(model, rule))
    assert mine.items() <= found.items()
    (row,) = dataset("addition", [2], size=1, token_ids=found)
    assert {*row["input_ids"]} <= {*mine.values()}
