"""Models of other people: folders, functions, vocabularies; what is wrong with them is one line."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch

import lengthwise as lw
from lengthwise.cli.main import main
from lengthwise.explanation.model import subject_of
from lengthwise.languages.automaton import language
from lengthwise.tasks import TASKS

pytest.importorskip("aalpy")
EXAMPLE = Path(__file__).parents[2] / "examples" / "explain_gpt2.py"


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory):
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("gpt2")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        made = runpy.run_path(str(EXAMPLE))
    return folder / "gpt2", made["right"], made["words"]


def test_a_stock_gpt2_has_the_accuracy_that_its_own_script_counts(gpt2, tmp_path: Path, capsys) -> None:
    folder, right, words = gpt2
    command = [
        "explain", str(folder), "--task", "regex:(aa)*b*", "--train", "20", "--vocab", str(folder / "vocab.json"),
        "--lengths", ",".join(map(str, right)), "--out", str(tmp_path), "--json",
    ]  # fmt: skip
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["length"]: row["right"] for row in found["accuracy"]["rows"]} == right
    assert all(row["n"] == len(words(row["length"])[0]) for row in found["accuracy"]["rows"])
    assert found["automaton"]["equal"]
    assert found["failures"]["smallest"]
    assert (tmp_path / "explanation.html").read_text().startswith("<!doctype html>")
    capsys.readouterr()
    assert main(command) == 0  # What is finished is read.
    again = capsys.readouterr()
    assert again.err.count("read from") == 5
    assert json.loads(again.out) == found


def test_a_failing_string_fails_when_it_is_run_again(gpt2) -> None:
    folder, _, _ = gpt2
    found = lw.explain(folder, "regex:(aa)*b*", train=20, vocab=folder / "vocab.json", lengths=[20, 30], samples=32)
    subject = subject_of(folder, TASKS.build("regex:(aa)*b*"), train=20, vocab=folder / "vocab.json")
    assert found.failures.smallest
    for failure in found.failures.smallest:
        word = np.array([[{"a": 0, "b": 1}[token] for token in failure.tokens[1:-1]]])
        (batch,) = subject.task.batches_of([word])  # type: ignore[attr-defined]
        right = subject.right(batch)[0]
        assert not right.all()
        assert int(right.argmin()) == failure.position


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"vocab": {"a": 0, "b": 1, "<eos>": 3}}, "uses the token '<bos>', which the model has not"),
        ({"vocab": {"a": 0, "b": 0, "<bos>": 2, "<eos>": 3}}, "gives one id to two tokens"),
        ({"vocab": {"a": 0, "c": 1}}, "unknown token of task 'language' in the vocabulary 'c'"),
        ({"vocab": {"a": 0, "b": 1, "<bos>": 2, "<eos>": 9}}, "names id 9, but the model has 4 tokens"),
        ({"vocab": None}, "say which is which with `vocab`"),
        ({"lengths": [60]}, "no strings of the lengths 60, or the model has too few position ids"),
        ({"train": None}, "give the longest of them as `train`"),
        ({"task": None}, "name the `task`"),
    ],
)
def test_what_does_not_fit_is_one_line(gpt2, change: dict, line: str) -> None:
    folder, _, _ = gpt2
    given = {"task": "regex:(aa)*b*", "train": 20, "vocab": folder / "vocab.json"} | change
    with pytest.raises(lw.LengthwiseError, match=line) as error:
        lw.explain(folder, **given)
    assert "\n" not in str(error.value)


def test_a_folder_without_safetensors_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    torch.save({}, tmp_path / "pytorch_model.bin")
    with pytest.raises(lw.LengthwiseError, match="can execute code"):
        lw.explain(tmp_path, "regex:a*", train=5)


def test_a_function_is_explained_without_heads() -> None:
    """It answers whether the last bit is 1, instead of whether the number of 1s is odd."""
    task = TASKS.build("parity")
    vocab = task.vocab

    def last_bit(ids: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        before = torch.cat([ids[:, :1], ids[:, :-1]], dim=1)
        answer = torch.where(before == vocab["1"], vocab["o"], vocab["e"])
        ended = (ids == vocab["<sep>"]).cumsum(1).cumsum(1) > 1
        best = torch.where(ended, vocab["<eos>"], answer)
        return torch.nn.functional.one_hot(best, len(vocab)).float()

    found = lw.explain(last_bit, task, train=9, samples=32, seconds=60)
    assert found.heads is None
    assert found.automaton is not None
    assert found.automaton.dfa == language("{0,1}*0", "01")
    assert found.automaton.complete
    assert found.automaton.equal is False
    assert found.automaton.differing[:2] == (("10", True), ("11", False))
    assert 0 < (found.accuracy.rate(inside=True) or 0) < 1
    assert found.failures.smallest[0].length == 10
    assert found.program is not None
    assert found.program.rate(inside=True) == found.program.rate(inside=False) == 1
