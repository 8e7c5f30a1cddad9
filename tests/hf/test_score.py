"""`right_answers` counts what a slow loop over single problems counts."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from test_pretrained_model import experiment, made
from tiny import slow_greedy, tiny

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.hf import CoupledPlaces, attach, right_answers
from lengthwise.models.generate import generate
from lengthwise.tasks import TASKS, Task

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
