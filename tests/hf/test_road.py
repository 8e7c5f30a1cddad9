"""From a training on our tasks to an audit of the saved folder, whose counts are those of the model itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from lengthwise.audit.model import UNKNOWN, LocalModel
from lengthwise.audit.questions import AuditPlan
from lengthwise.audit.run import run_audit
from lengthwise.cli.main import main
from lengthwise.core.rng import stream
from lengthwise.hf import collate, dataset, task_tokenizer, text_dataset
from lengthwise.tasks import TASKS

TASK = TASKS.build("parity")
LENGTHS = (3, 9, 21)


@pytest.fixture(scope="module", params=["dataset", "text_dataset"])
def road(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with a Llama that answers, about half of them right, and the form in which it was trained."""
    form = {"dataset": "bare", "text_dataset": "lines"}[request.param]
    words = task_tokenizer(TASK, () if form == "bare" else (form,))
    size = len(TASK.vocab) if form == "bare" else len(words)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=size, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        bos_token_id=words.bos_token_id, eos_token_id=words.eos_token_id, pad_token_id=words.pad_token_id,
    )  # fmt: skip
    model = LlamaForCausalLM(config).train()
    steps = 30
    rows = (
        dataset(TASK, range(2, 12), size=32 * steps)
        if form == "bare"
        else text_dataset(TASK, range(2, 12), words, form=form, filler=10, size=32 * steps)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for batch in DataLoader(rows, batch_size=32, collate_fn=collate()):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    folder = tmp_path_factory.mktemp("road")
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder, form


def generated(model: Any, prompt: list[int]) -> list[int]:
    """The slow loop over ids."""
    ids = list(prompt)
    with torch.no_grad():
        while len(ids) < len(prompt) + 30 and (len(ids) == len(prompt) or ids[-1] != 3):
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
    return ids[len(prompt) :]


def test_an_audit_of_the_folder_counts_what_the_model_says(road: tuple[Path, str], tmp_path: Path):
    folder, form = road
    plan = AuditPlan(TASK, LENGTHS, samples=12, shots=0, forms=(form,))
    result = run_audit(LocalModel(str(folder)), plan, tmp_path)
    cells = {cell["level"]: cell["counts"] for cell in result["cells"] if cell["sweep"] == "problem"}
    marks: tuple[list[str], list[str]] = {"bare": ([], []), "lines": (["Input:"], ["Output:"])}[form]
    words, model = task_tokenizer(TASK, (form,)), AutoModelForCausalLM.from_pretrained(folder).eval()
    assert sum(cells[length]["right"] for length in LENGTHS) not in (0, 12 * len(LENGTHS)), "some are right"
    for length in LENGTHS:
        right = 0
        for index in range(plan.samples):
            batch = TASK.batch(length, 1, stream(0, "audit", "problems", length, index))
            ids, at = batch.input_ids[0].tolist(), batch.prompt_length
            before, behind = (words.convert_tokens_to_ids(part) for part in marks)
            right += generated(model, [ids[0], *before, *ids[1:at], *behind]) == ids[at:]
        assert cells[length]["right"] == right
        assert cells[length]["right"] + cells[length]["wrong"] == plan.samples


def test_words_that_the_tokenizer_lacks_are_not_asked(road: tuple[Path, str], tmp_path: Path):
    folder, form = road
    result = run_audit(LocalModel(str(folder)), AuditPlan(TASK, LENGTHS, samples=3, shots=0, forms=(form,)), tmp_path)
    filled = [cell for cell in result["cells"] if cell["sweep"] == "distance"]
    assert all((cell["counts"][UNKNOWN] == 3) == (form == "bare") for cell in filled)
    assert any("no token for '#'" in line for line in result["warnings"]) == (form == "bare")
    other = AuditPlan(TASK, LENGTHS, samples=3, shots=0, forms=("instruction",))
    result = run_audit(LocalModel(str(folder)), other, tmp_path)
    assert "no token for 'Write'" in result["no_response"]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda folder: None, "no folder"),
        (lambda folder: folder.mkdir(), "config.json is missing"),
        (lambda folder: random_model().save_pretrained(folder), "no tokenizer beside model typo; save the one of its"),
        (lambda folder: (random_model().save_pretrained(folder), silent().save_pretrained(folder)), "no tokenizer"),
        (lambda folder: own_model(folder), "which reads ids and no text"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["typo", "./typo"])
def test_a_folder_that_cannot_be_asked_is_one_line(
    make: Any, says: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", unreachable)
    make(tmp_path / "typo")
    capsys.readouterr()
    assert main(["audit", name, "--task", "copy", "--lengths", "2,4"]) == 2
    error = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("[transformers]")]
    assert len(error) == 1
    assert says in error[0]
    assert not (tmp_path / "runs").exists()


def unreachable(*_: Any, **__: Any) -> None:
    raise ConnectionError("Name or service not known")


def own_model(folder: Path) -> None:
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "lengthwise"}')


def random_model() -> LlamaForCausalLM:
    return LlamaForCausalLM(
        LlamaConfig(vocab_size=9, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1)
    )


def silent() -> PreTrainedTokenizerFast:
    """A tokenizer without tokens."""
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE({}, [])))
