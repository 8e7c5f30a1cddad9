"""Scores against a naive loop that generates every string freely, token by token, without cache or short cuts."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any

import pytest
import torch

from lengthwise.core.batch import Batch
from lengthwise.core.config import fields_of
from lengthwise.core.result_file import Score
from lengthwise.core.rng import stream
from lengthwise.evaluation import accuracy
from lengthwise.evaluation.accuracy import EvaluatedModel, _answers, fit_lengths, read_prompt, score_batch, score_layout
from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.models.config import ModelConfig
from lengthwise.models.inputs import Inputs
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import Coupled, PositionScheme, PredictiveCoupling, Sequential
from lengthwise.tasks import TASKS, Task
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import TaskSetup
from lengthwise.training.trainer import Trainer
from oracle import END, rough_model
from small import Echo

ADDITION, ECHO = TASKS.build("addition"), Echo()
SYSTEMS: dict[str, tuple[Task, PositionScheme, str, str]] = {
    "echo, predicted ids": (ECHO, PredictiveCoupling(max_position=16), "learned", "classification"),
    "echo, pointed ids": (ECHO, PredictiveCoupling(max_position=16), "learned", "pointer"),
    "echo, given ids": (ECHO, Coupled(max_position=16), "learned", "classification"),
    "echo, plain ids": (ECHO, Sequential(max_position=64), "rope", "classification"),
    "addition, predicted ids": (
        ADDITION,
        PredictiveCoupling(max_position=16, draw="contiguous"),
        "learned",
        "classification",
    ),
    "addition, given ids": (ADDITION, Coupled(max_position=16), "learned", "classification"),
}
STAGES = (0, 40, 80, 140)
"""Steps of training after which a model is looked at: from noise to nearly fitted."""


@lru_cache
def trained(system: str) -> dict[int, Transformer]:
    """One model at every stage of a short training."""
    task, scheme, encoding, head = SYSTEMS[system]
    config = ModelConfig(layers=1, heads=2, width=32, mlp_ratio=2, id_head=head)  # type: ignore[arg-type]
    training = TrainingConfig(min_length=2, max_length=4, steps=STAGES[-1], batch_size=16, groups=2, lr=5e-3, warmup=10)
    trainer = Trainer(TaskSetup(task, scheme, ENCODINGS.build(encoding), config), training, [0])
    models = {}
    for step in range(STAGES[-1] + 1):
        if step in STAGES:
            model = trainer_model_copy(trainer, task, scheme, encoding, config)
            models[step] = model
        if step < STAGES[-1]:
            trainer.step(step)
    return models


def trainer_model_copy(trainer: Trainer, task, scheme, encoding, config) -> Transformer:
    model = rough_model(task, scheme, encoding, config)
    model.load_state_dict(trainer.model.state_dict())
    return model.eval()


def read_answer(tokens: list[int], batch: Batch) -> list[int] | None:
    """The last tokens before the end where there is a trace, otherwise the answer's own columns."""
    scored = [t for t in range(batch.tokens) if batch.columns[t].scored]
    answer = [t for t in scored if batch.columns[t].answer]
    end = [t for t in scored if batch.input_ids[0, t] == END]
    if set(answer) | set(end) == set(scored):
        columns = [t - batch.prompt_length for t in answer]
        return [tokens[c] for c in columns] if max(columns) < len(tokens) else None
    before = tokens[: tokens.index(END)] if END in tokens else tokens
    return before[-len(answer) :] if len(before) >= len(answer) else None


@torch.no_grad()
def generate_slowly(model: Transformer, inputs: Inputs, prompt: int, next_ids: torch.Tensor | None) -> list:
    """Tokens and ids of every row, by running the whole prefixes again for every token; cut behind ``<eos>``."""
    tokens, ids = inputs.input_ids[:, :prompt], inputs.position_ids[:, :prompt]
    for step in range(inputs.targets.shape[1]):
        output = model(tokens, ids)
        if next_ids is None:
            new = torch.stack([level.best()[:, -1] for level in output.position], dim=-1)
        else:
            new = next_ids[:, step]
        tokens = torch.cat([tokens, output.logits[:, -1:].argmax(-1)], dim=1)
        ids = torch.cat([ids, new[:, None]], dim=1)
    result = []
    for row, row_ids in zip(tokens[:, prompt:].tolist(), ids[:, prompt:].tolist(), strict=True):
        end = row.index(END) + 1 if END in row else len(row)
        result.append((row[:end], row_ids[:end]))
    return result


def naive_score(model: Transformer, task: Task, scheme: PositionScheme, batch: Batch, seed: int) -> dict:
    """What the score should be, by the book."""
    inputs = Inputs.of(batch, scheme, task.levels, stream(seed, "ids"))
    prompt, correct, kinds, where = batch.prompt_length, Counter(), Counter(), []
    forced = model(inputs.input_ids, inputs.position_ids).logits[:, prompt - 1 : -1].argmax(-1)
    given_all = generate_slowly(model, inputs, prompt, inputs.target_position_ids)
    free_all = generate_slowly(model, inputs, prompt, None) if scheme.predicted else given_all
    for row in range(batch.size):
        right, right_ids = inputs.targets[row].tolist(), inputs.target_position_ids[row].tolist()
        given, free = given_all[row], free_all[row]
        correct["exact_match"] += free[0] == right
        correct["oracle_ids"] += given[0] == right
        answer = read_answer(right, batch)
        assert answer is not None
        correct["answer"] += read_answer(free[0], batch) == answer
        if scheme.predicted:
            correct["exact_match_ids"] += free == (right, right_ids)
        for step, (token, identity) in enumerate(zip(*free, strict=True)):
            token_right, id_right = token == right[step], identity == right_ids[step]
            if token_right and id_right:
                continue
            if token_right:
                kind = "id"
            elif END in (token, right[step]):
                kind = "eos"
            else:
                kind = "token" if id_right else "both"
            kinds[kind] += 1
            where.append(step)
            break
    return {
        "correct": dict(correct),
        "tokens": int((forced == inputs.targets).sum()),
        "first_error": dict(kinds),
        "first_error_at": sorted(where),
    }


def score(system: str, step: int, length: int, *, answers: bool = True) -> dict:
    """What the library says."""
    task, scheme, _, _ = SYSTEMS[system]
    batch = task.batch(length, 40, stream(step, "test", length))
    evaluated = EvaluatedModel(trained(system)[step], task, scheme).for_evaluation()
    return score_batch(evaluated, batch, stream(step, "ids"), answers=answers).to_json()


@pytest.mark.parametrize("step", STAGES)
@pytest.mark.parametrize("system", SYSTEMS)
def test_scores_equal_the_naive_loop(system: str, step: int):
    task, scheme, _, _ = SYSTEMS[system]
    for length in (3, 6) if step == STAGES[-1] else (3,):
        fast = score(system, step, length)
        batch = task.batch(length, 40, stream(step, "test", length))
        slow = naive_score(trained(system)[step], task, scheme.for_evaluation(), batch, step)
        for key, value in slow.items():
            assert fast[key] == value, key
        assert fast["n"] == 40
        assert fast["exact_match"] == slow["correct"]["exact_match"] / 40
        assert sum(fast["first_error"].values()) == len(fast["first_error_at"])


def test_the_stages_make_errors_of_all_kinds():
    """Otherwise the test above would compare little."""
    kinds, differs = Counter(), Counter()
    for system in SYSTEMS:
        for step in STAGES:
            fast = score(system, step, 3)
            kinds.update(fast["first_error"])
            correct = fast["correct"]
            differs["oracle"] += correct["exact_match"] != correct["oracle_ids"]
            differs["answer"] += correct["exact_match"] != correct["answer"]
            differs["some right"] += 0 < correct["exact_match"] < 40
    assert set(kinds) == {"token", "id", "both", "eos"}
    assert all(differs[name] for name in ("oracle", "answer", "some right")), differs


@pytest.mark.parametrize("system", SYSTEMS)
def test_exact_matches_do_not_need_the_answers(system: str):
    for step in STAGES:
        short, full = score(system, step, 3, answers=False), score(system, step, 3)
        for metric in ("exact_match", "oracle_ids", "exact_match_ids"):
            assert short["correct"].get(metric) == full["correct"].get(metric)
        assert short["first_error"] == full["first_error"]
        assert short["correct"].get("answer") in (None, full["correct"]["answer"]), "left out where it is not counted"
        assert ("answer" in short["correct"]) == system.startswith("addition"), "echo has a trace"


def test_an_evaluation_without_answers_is_another_one():
    assert "answers" not in fields_of(EvaluationConfig()), "run directories keep the names that they had before"
    assert fields_of(EvaluationConfig(answers=False))["answers"] is False


@pytest.mark.parametrize(
    ("generated", "right"),
    [
        ([9, 8, 5, 6, END], True),
        ([5, 6, END, END, END], True),  # the trace is missing, the answer is there
        ([8, 8, 8, 5, 6], True),  # no end: the last tokens
        ([9, 8, 6, 5, END], False),
        ([6, END, END, END, END], False),
        ([END, END, END, END, END], False),
    ],
)
def test_answers_are_read_before_the_end(generated: list[int], right: bool):
    expected = torch.tensor([[9, 8, 5, 6, END]])
    assert _answers(torch.tensor([generated]), expected, 2, END).tolist() == [right]


def test_a_string_that_ends_too_early_holds_no_answer():
    """One symbol must not be read twice: ``5 <eos>`` does not answer ``5 5``."""
    expected = torch.tensor([[9, 8, 5, 5, END]])
    assert _answers(torch.tensor([[5, END, END, END, END]]), expected, 2, END).tolist() == [False]


# Layouts, chunks, determinism


def test_chunks_do_not_lose_strings_or_zeros(monkeypatch):
    """Sums over chunks keep the metrics that are 0: "none right" is a result."""
    model = trained("addition, given ids")[0]
    monkeypatch.setattr(accuracy, "CHUNK_TOKENS", 60)
    evaluated = EvaluatedModel(model, ADDITION, SYSTEMS["addition, given ids"][1])
    result = score_layout(evaluated, 4, None, 23, stream(0))
    record = result.to_json()
    assert record["n"] == 23
    assert record["tokens_total"] == 23 * 6
    assert record["correct"] == {"exact_match": 0, "answer": 0, "oracle_ids": 0}
    assert sum(record["first_error"].values()) == 23


def test_a_score_is_a_function_of_its_stream():
    model = trained("echo, predicted ids")[STAGES[2]]
    task, scheme, _, _ = SYSTEMS["echo, predicted ids"]
    evaluated = EvaluatedModel(model, task, scheme)
    scores = [score_layout(evaluated, 4, None, 30, stream(seed)).to_json() for seed in (0, 0, 1)]
    assert scores[0] == scores[1] != scores[2]


def test_biased_encodings_take_fewer_strings_at_a_time():
    """A bias for every pair of tokens must not grow without bound."""
    plain = rough_model(ADDITION, Sequential(), "rope")
    biased = rough_model(ADDITION, Sequential(), "fire")
    assert accuracy.chunk_rows(plain, 4096) == 8
    assert accuracy.chunk_rows(biased, 4096) == 2
    assert accuracy.chunk_rows(biased, 100) == accuracy.chunk_rows(plain, 100) == 327
    assert accuracy.chunk_rows(biased, 10**6) == accuracy.chunk_rows(plain, 10**6) == 1


def test_fit_lengths_cover_the_training_range_and_its_end():
    assert fit_lengths(ADDITION, 1, 8) == [1, 2, 3, 4, 5, 6, 7, 8]
    picks = fit_lengths(ADDITION, 1, 100)
    assert len(picks) == 8
    assert (picks[0], picks[-1]) == (1, 100)
    assert fit_lengths(ADDITION, 5, 5) == [5]


def test_evaluation_layouts_fall_back_to_random_ones():
    assert list(accuracy.evaluation_layouts(ADDITION, (3, 5))) == [(3, None), (5, None)]


def test_adding_scores_adds_counts():
    first = Score(length=3, n=2, correct={"exact_match": 0}, tokens=5, tokens_total=8, first_error_at=[1, 3])
    second = Score(length=5, n=4, correct={"exact_match": 1, "answer": 2}, tokens=6, tokens_total=9, first_error_at=[2])
    both = first + second
    assert (both.length, both.n, both.tokens, both.tokens_total) == (5, 6, 11, 17)
    assert both.correct == {"exact_match": 1, "answer": 2}
    assert both.first_error_at == [1, 2, 3]
    assert both.rate() == 1 / 6
    assert "exact_match" in (first + Score(length=3, n=1, correct={"exact_match": 0})).correct


@pytest.mark.parametrize("spec", [
    {"name": "reverse", "letters": 32}, {"name": "copy", "letters": 32}, {"name": "copy", "letters": 17}, "addition",
    {"name": "copy", "letters": 16, "symbols": "repeats"}, "bucket-sort", "retrieval",
])  # fmt: skip
def test_every_prompt_of_a_task_is_read_as_one(spec: Any) -> None:
    """A token that no other string happens to have there is none the less one that may stand there."""
    task, scheme = TASKS.build(spec), Sequential()
    for length in (3, 8, 14):
        batch = task.batch(length, 200, stream(11, "read", length))
        for row in range(batch.size):
            ids = batch.input_ids[row, : batch.prompt_length]
            text = " ".join(task.vocab.decode(ids.tolist()))
            if row < 24 or row % 8 == 0:
                assert (read_prompt(task, scheme, text).input_ids[0] == ids).all(), text
