"""A model in a folder: known by its content, greedy whatever its files say, and its prompts end where the text ends."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from test_served import saved
from tokenizers.normalizers import Lowercase
from tokenizers.processors import TemplateProcessing
from transformers import AutoModelForCausalLM, AutoTokenizer

from lengthwise.audit.model import NOT_FINITE, LocalModel, prompt_ids
from lengthwise.audit.questions import AuditPlan
from lengthwise.audit.run import ANSWERS, run_audit
from lengthwise.audit.scoring import Scoring
from lengthwise.core.errors import LengthwiseError
from lengthwise.tasks import TASKS

PLAN = AuditPlan(TASKS.build("addition"), (1, 2), samples=2, shots=1, forms=("lines",), answer_tokens=6)
PROMPT = "Input: 1 2 + 3 4 =\nOutput:"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved(tmp_path / "model")


def rewrite(folder: Path, name: str, **values: Any) -> None:
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def other_weights(folder: Path, change: float = 0.5) -> None:
    model = AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        model.lm_head.weight.add_(change * torch.randn(model.lm_head.weight.shape, generator=torch.manual_seed(1)))
    model.save_pretrained(folder)


def retokenized(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.backend_tokenizer.normalizer = Lowercase()
    tokenizer.save_pretrained(folder)


@pytest.mark.parametrize(
    "change",
    [other_weights, retokenized, lambda folder: rewrite(folder, "config.json", rms_norm_eps=0.1)],
    ids=["weights", "tokenizer", "configuration"],
)
def test_another_model_in_the_same_folder_is_asked_anew(
    change: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first = run_audit(LocalModel(str(folder)), PLAN, tmp_path / "out")
    count = len((tmp_path / "out" / ANSWERS).read_text().splitlines())
    copy = shutil.copytree(folder, tmp_path / "copy")
    run_audit(LocalModel(str(copy)), PLAN, tmp_path / "out")
    assert len((tmp_path / "out" / ANSWERS).read_text().splitlines()) == count == first["requests"], (
        "a copy is the same"
    )
    before = LocalModel(str(folder)).identity
    with monkeypatch.context() as patched:
        patched.setattr("torch.get_num_threads", lambda: 97)
        assert LocalModel(str(folder)).identity != before
    change(folder)
    model = LocalModel(str(folder))
    assert model.identity != before
    run_audit(model, PLAN, tmp_path / "out")
    assert len((tmp_path / "out" / ANSWERS).read_text().splitlines()) == 2 * count


def reading_numbers(folder: Path) -> LocalModel:
    model = LocalModel(str(folder))
    model.scoring = Scoring("last-number")
    return model


def greedy(folder: Path, prompt: str, budget: int) -> list[int]:
    """The slow loop: the largest logit of a whole pass at each step."""
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(prompt)["input_ids"]
    start = len(ids)
    with torch.no_grad():
        while len(ids) < start + budget and (len(ids) == start or ids[-1] != tokenizer.eos_token_id):
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
    return ids[start:]


@pytest.mark.parametrize(
    "settings",
    [
        {}, {"repetition_penalty": 1.8}, {"no_repeat_ngram_size": 1}, {"suppress_tokens": list(range(4, 60))},
        {"do_sample": True, "temperature": 5.0}, {"num_beams": 4}, {"min_new_tokens": 40}, {"max_length": 3},
        {"begin_suppress_tokens": list(range(50))}, {"forced_eos_token_id": 5}, {"bad_words_ids": [[7], [8], [9]]},
    ],
    ids=str,
)  # fmt: skip
def test_greedy_is_the_largest_logit_whatever_the_files_set(settings: dict[str, Any], folder: Path):
    rewrite(folder, "generation_config.json", **settings)
    model = reading_numbers(folder)
    reply = model.ask(PROMPT, 24)
    expected = greedy(folder, PROMPT, 24)
    assert reply.completion_tokens == len(expected)
    assert reply.text == model.tokenizer.decode(expected, skip_special_tokens=True)
    assert reply.prompt_tokens == len(model.tokenizer(PROMPT)["input_ids"])


def test_a_tokenizer_that_appends_an_end_does_not_end_the_prompt(folder: Path):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    bare = tokenizer(PROMPT)["input_ids"]
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<unk> $A </s>", special_tokens=[("</s>", 1), ("<unk>", 0)]
    )
    tokenizer.save_pretrained(folder)
    model = LocalModel(str(folder))
    assert model.tokenizer(PROMPT)["input_ids"] == [0, *bare, 1]
    assert prompt_ids(model.tokenizer, PROMPT, model.ends) == [0, *bare]
    assert model.tokens(PROMPT) == len(bare) + 1
    assert prompt_ids(model.tokenizer, PROMPT + "</s>", model.ends) == [0, *bare, 1], (
        "what the text itself ends with stays"
    )


def test_logits_that_are_not_finite_are_no_answer_and_said(folder: Path, tmp_path: Path):
    model = LocalModel(str(folder))
    with torch.no_grad():
        model.model.lm_head.weight[5, 0] = float("nan")
    result = run_audit(model, PLAN, tmp_path / "out")
    assert all(cell["counts"][NOT_FINITE] == cell["asked"] and cell["rate"] is None for cell in result["cells"])
    assert any("not finite" in line for line in result["warnings"])
    assert result["causes"]["says"].startswith("No answer")


def test_a_tokenizer_of_another_model_is_one_line(folder: Path):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["Input"])
    tokenizer.save_pretrained(folder)
    with pytest.raises(LengthwiseError, match="don't belong together"):
        LocalModel(str(folder)).ask(PROMPT, 4)


def test_a_model_is_stopped_behind_its_answer(folder: Path):
    model = LocalModel(str(folder))
    model._text = lambda ids: "1 2\n\nInput: 3 4"
    assert model.ask(PROMPT, 400).completion_tokens < 20
    model = reading_numbers(folder)
    model._text = lambda ids: "1 2\n\nInput: 3 4"
    assert model.ask(PROMPT, 40).completion_tokens == len(greedy(folder, PROMPT, 40))
