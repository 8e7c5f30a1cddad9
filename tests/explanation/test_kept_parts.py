"""What an explanation reuses from a folder is known by content, and logits that are not numbers are said."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch

import lengthwise as lw
from lengthwise.explanation.model import subject_of
from lengthwise.models.extension import extension_methods
from lengthwise.tasks import TASKS

TASK = (Path(__file__).parents[2] / "examples" / "my_task.py").read_text()


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A model after two steps, with rotary positions."""
    experiment = lw.Experiment(
        "regex:(ab)*", "sequential", "rope", max_length=6, test_lengths=[8], steps=2,
        model={"layers": 1, "width": 8, "heads": 2}, training={"batch_size": 4}, evaluation={"samples": 4},
    )  # fmt: skip
    return lw.load(experiment.run(1, out=tmp_path_factory.mktemp("runs"), progress=False).files[0][0])


def digest(model: Any) -> str | None:
    return subject_of(model, None).network.digest()


def read_again(model: Any, out: Path, **settings: Any) -> int:
    """How many parts a second explanation takes over from a folder."""
    lines: list[str] = []
    lw.explain(model, lengths=[4], samples=8, out=out, note=lines.append, **settings)
    return sum("read from" in line for line in lines)


def test_another_model_in_the_same_folder_is_explained_anew(loaded: Any, tmp_path: Path) -> None:
    assert read_again(loaded, tmp_path) == 0
    assert read_again(loaded, tmp_path) > 0
    assert read_again(lw.extend(loaded, "pi", factor=2), tmp_path) == 0, "the same weights in another encoding"
    with torch.no_grad():
        next(iter(loaded.parameters())).add_(1)
    assert read_again(loaded, tmp_path) == 0


@pytest.mark.parametrize("method", extension_methods())
def test_every_setting_of_an_encoding_is_part_of_a_model(loaded: Any, method: str) -> None:
    def of(step: int) -> str | None:
        settings = {} if method in ("pi", "ntk") else {"length": 32 * step}
        return digest(lw.extend(loaded, method, factor=step, **settings))

    assert len({digest(loaded), of(2), of(4)}) == 3
    assert of(4) == of(4)


@pytest.mark.parametrize(
    ("kind", "change"),
    [("Llama", {"rope_theta": 500.0}), ("Llama", {"num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 4}),
     ("Gemma2", {"final_logit_softcapping": 5.0})],
)  # fmt: skip
def test_every_setting_of_a_hugging_face_model_is_part_of_it(kind: str, change: dict[str, Any]) -> None:
    import transformers

    shape = {
        "vocab_size": 5, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 4,
        "num_key_value_heads": 4, "head_dim": 2, "max_position_embeddings": 64, "rope_theta": 10_000.0,
    }  # fmt: skip

    def made(**values: Any) -> str | None:
        torch.manual_seed(0)
        config = getattr(transformers, f"{kind}Config")(**{**shape, **values})
        model = getattr(transformers, f"{kind}ForCausalLM")(config)
        vocab = {"<bos>": 0, "<sep>": 1, "<eos>": 2, "a": 3, "b": 4}
        return subject_of(model, TASKS.build("regex:(ab)*"), train=4, vocab=vocab).network.digest()

    assert made() == made()
    assert made(**change) != made()


def test_an_edited_task_of_the_same_name_is_explained_anew(
    loaded: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for edit in ("", "", "# edited"):
        folder = tmp_path / f"{len(found)}"
        folder.mkdir()
        (folder / "task.py").write_text(TASK + edit)
        monkeypatch.chdir(folder)
        task = TASKS.build({"name": "task.py:EverySecond", "base": 2})
        model = lw.Experiment(
            task, "sequential", "nope", max_length=4, test_lengths=[6], steps=1,
            model={"layers": 1, "width": 8, "heads": 2}, training={"batch_size": 4}, evaluation={"samples": 4},
        ).run(1, out=folder / "runs", progress=False).files[0][0]  # fmt: skip
        found.append(read_again(lw.load(model), tmp_path / "out"))
    assert found[0] == found[2] == 0 < found[1]


def test_logits_that_are_not_finite_are_counted_and_said() -> None:
    task = TASKS.build("regex:(ab)*")

    a, b, start, end = (task.vocab[token] for token in ("a", "b", "<bos>", "<eos>"))
    allowed = torch.full((len(task.vocab), len(task.vocab)), -1.0)
    allowed[a, b] = allowed[b, a] = allowed[b, end] = allowed[start, a] = allowed[start, end] = 1

    def model(ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return torch.where((positions > 12)[..., None], float("nan"), allowed[ids])

    explained = lw.explain(model, task, train=8, lengths=[4, 8, 16], samples=8)
    assert [(row.length, row.not_finite) for row in explained.accuracy.rows] == [(4, 0), (8, 0), (16, 1)]
    assert "Logits are NaN or infinite in 1 of 1 strings (length 16)" in explained.why
    assert any("count as wrong" in line for line in explained.lines)
    fine = dataclasses.replace(explained.accuracy, rows=explained.accuracy.rows[:2])
    assert fine.not_finite == ""
