"""Models of other people: folders, functions, vocabularies; what is wrong with them is one line."""

from __future__ import annotations

import contextlib
import io
import json
import re
import runpy
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import lengthwise as lw
from lengthwise.api.experiment import read_recipe
from lengthwise.cli.main import main
from lengthwise.explanation.model import subject_of
from lengthwise.languages.automaton import language
from lengthwise.tasks import TASKS

ROOT = Path(__file__).parents[2]
EXAMPLE, PAGE = ROOT / "examples" / "explain_gpt2.py", ROOT / "docs" / "howto" / "explain.md"


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory):
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("gpt2")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        made = runpy.run_path(str(EXAMPLE))
    return folder / "gpt2", made["right"], made["words"]


@pytest.fixture(scope="module")
def explained(gpt2, tmp_path_factory: pytest.TempPathFactory):
    """The command of the page, what it prints, and what its JSON says."""
    folder, _, _ = gpt2
    out = tmp_path_factory.mktemp("explained")
    line = next(line for line in PAGE.read_text().splitlines() if line.startswith("lengthwise explain gpt2 "))
    command = ["explain", *shlex.split(line)[2:], "--out", str(out)]
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as printed:
        patch.chdir(folder.parent)
        assert main(command) == 0
    return command, json.loads((out / "explanation.json").read_text()), out, printed.getvalue()


def test_the_page_shows_what_its_command_prints(explained) -> None:
    """All of it and in this order, apart from numbers, which other processors may round otherwise."""

    def shape(text: str) -> list[str]:
        lines = (re.sub(r"-{3,}|\b(a ?){3,}\b|[\d.]+", "#", line) for line in text.splitlines())
        return [" ".join(line.split()) for line in lines if line.strip()]

    shown = next(block for block in re.findall(r"```text\n(.*?)```", PAGE.read_text(), re.S) if "gpt2 on" in block)
    assert shape(shown) == shape(explained[3])


@pytest.mark.slow
def test_the_advice_helps_the_example_in_the_steps_that_the_page_names(explained, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    attach = explained[1]["command"]
    changed = re.search(r"range\(([\d,]+)\)", PAGE.read_text())
    assert changed
    source = EXAMPLE.read_text()
    for old, new in (("optimizer, rng", f"{attach}\noptimizer, rng"),
                     ("range(300)", changed[0].replace(",", ""))):  # fmt: skip
        assert source.count(old) == 1
        source = source.replace(old, new)
    made: dict = {}
    exec(compile(source, "example", "exec"), made)
    assert all(count == len(made["words"](length)[0]) for length, count in made["right"].items())
    found = lw.explain("gpt2", "regex:(aa)*b*", train=20, vocab="gpt2/vocab.json")
    assert found.verdict.broken() is None
    assert found.answer.startswith("right to length 47, the longest asked")
    assert "no room" in found.next


def test_a_stock_gpt2_has_the_accuracy_that_its_own_script_counts(gpt2, explained, capsys, monkeypatch) -> None:
    _, right, words = gpt2
    command, found, out, _ = explained
    assert right.items() <= {row["length"]: row["right"] for row in found["accuracy"]["rows"]}.items()
    assert all(row["n"] == len(words(row["length"])[0]) for row in found["accuracy"]["rows"])
    assert found["automaton"]["equal"]
    assert found["forecast"] is None  # Such forecasts were scored on models without positions.
    assert "'sequential', random_start=True, max_position=47))" in found["command"]
    # Training showed even starts of the ids only, as it were: the control breaks, too, so it is not the new ids alone.
    moved = found["failures"]["moved"]
    assert {arm["shift"] % 2 for arm in moved["inside"] if arm["right"] < moved["right"]} == {1}
    assert {arm["shift"] % 2 for arm in moved["inside"] if arm["right"] == moved["right"]} == {0}
    # Words with more a's than training had fail, and no others.
    feature = found["failures"]["feature"]
    assert feature["name"] == "where the number of a is above 20"
    assert (out / "explanation.html").read_text().startswith("<!doctype html>")
    monkeypatch.chdir(gpt2[0].parent)
    assert main([*command, "--json"]) == 0  # What is finished is read.
    again = capsys.readouterr()
    assert again.err.count("read from") == 5
    assert json.loads(again.out) == found


def test_a_failing_string_fails_when_it_is_run_again(gpt2, explained) -> None:
    folder, _, _ = gpt2
    subject = subject_of(folder, TASKS.build("regex:(aa)*b*"), train=20, vocab=folder / "vocab.json")
    smallest = explained[1]["failures"]["smallest"]
    assert smallest
    for failure in smallest:
        word = np.array([[{"a": 0, "b": 1}[token] for token in failure["tokens"][1:-1]]])
        (batch,) = subject.task.batches_of([word])  # type: ignore[attr-defined]
        right = subject.right(batch)[0]
        assert not right.all()
        assert int(right.argmin()) == failure["position"]


AFTER = {"<bos>": "a <eos>", "a": "b", "b": "a <eos>", "<eos>": ""}
"""The tokens that may come after a token in words of (ab)*, in the order of the model's ids."""


def last_token_decides(name: str, folder: Path) -> torch.nn.Module:
    """A model of another architecture that allows after the last token what `AFTER` says, since its layers add nothing.

    Its attention has random weights, so the heads attend, but what they read is multiplied by 0.
    """
    import transformers

    shape = {
        "vocab_size": 4, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
        "max_position_embeddings": 64, "tie_word_embeddings": False,
    }  # fmt: skip
    if name in ("Llama", "Qwen2"):
        shape["num_key_value_heads"] = 2
    torch.manual_seed(0)
    model = getattr(transformers, f"{name}ForCausalLM")(getattr(transformers, f"{name}Config")(**shape))
    tokens = list(AFTER)
    with torch.no_grad():
        for key, value in model.named_parameters():
            if key.endswith(("o_proj.weight", "down_proj.weight", "dense.weight", "dense_4h_to_h.weight")):
                value.zero_()
        model.get_input_embeddings().weight.zero_()[range(4), range(4)] = 1
        allowed = torch.tensor([[1.0 if v in AFTER[u].split() else -1.0 for u in tokens] for v in tokens])
        model.get_output_embeddings().weight.zero_()[:, :4] = allowed
    model.save_pretrained(folder)
    (folder / "vocab.json").write_text(json.dumps({token: number for number, token in enumerate(tokens)}))
    return model


@pytest.mark.parametrize("name", ["Llama", "Qwen2", "GPTNeoX"])
def test_other_architectures_are_explained(name: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    model, vocab = last_token_decides(name, tmp_path), tmp_path / "vocab.json"
    found = lw.explain(tmp_path, "regex:(ab)*", train=10, vocab=vocab, lengths=[4, 10, 20, 30], samples=16, seconds=20)
    assert found.automaton is not None
    assert found.automaton.equal
    assert found.automaton.complete
    assert found.accuracy.rate(inside=False) == 1
    assert not found.failures.smallest
    assert found.heads is not None
    assert len(found.heads.heads) == 8
    # Nothing is lost with a head whose output is multiplied by 0.
    assert all(row.loss == pytest.approx(0, abs=1e-6) for head in found.heads.heads for row in head.rows)
    # The attention that is read is the model's own, and follows the position ids that are given.
    subject = subject_of(tmp_path, TASKS.build("regex:(ab)*"), train=10, vocab=vocab)
    ids, positions = subject.inputs(subject.task.batch(10, 1, lw.stream(0)), lw.stream(0))
    model.set_attn_implementation("eager")
    own = model.eval()(input_ids=ids, position_ids=positions[..., 0] + 7, output_attentions=True).attentions
    for ours, theirs in zip(subject.network.attention(ids, positions + 7), own, strict=True):
        assert ours.shape == (1, 4, ids.shape[1], ids.shape[1])
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("name", ["Llama", "Qwen2", "GPTNeoX"])
def test_a_head_of_another_architecture_is_removed_alone(name: str, tmp_path: Path) -> None:
    """With random output matrices, the logits are those of the model whose columns of this head read the mean."""
    pytest.importorskip("transformers")
    model = last_token_decides(name, tmp_path)
    ends = ("o_proj", "attention.dense")
    with torch.no_grad():
        for key, module in model.named_modules():
            if key.endswith(ends):
                module.weight.normal_()
    model.save_pretrained(tmp_path)
    network = subject_of(tmp_path, TASKS.build("regex:(ab)*"), train=10, vocab=tmp_path / "vocab.json").network
    ids = torch.randint(4, (6, 9), generator=torch.Generator().manual_seed(1))
    positions = torch.arange(9).expand(6, 9)[..., None]
    with network.ablated(1, 2):
        changed = network.logits(ids, positions)
    last = next(m for key, m in reversed(list(network.model.named_modules())) if key.endswith(ends))
    seen = []
    handle = last.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    plain = network.logits(ids, positions)
    handle.remove()
    assert not torch.allclose(changed, plain)
    x = seen[0].clone()
    x[..., 8:12] = x[..., 8:12].mean(0)
    handle = last.register_forward_pre_hook(lambda _, given: (x, *given[1:]))
    torch.testing.assert_close(network.logits(ids, positions), changed)
    handle.remove()
    torch.testing.assert_close(network.logits(ids, positions), plain)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"vocab": {"a": 0, "b": 1, "<eos>": 3}}, "uses the token '<bos>', which the model has not"),
        ({"vocab": {"a": 0, "b": 1, "<bos>": 2}}, "have '<eos>', which the model can't say; name the id in `vocab`"),
        ({"vocab": {"a": 0, "b": 0, "<bos>": 2, "<eos>": 3}}, "gives one id to two tokens"),
        ({"vocab": {"a": 0, "c": 1}}, "names 'c', which is no token of task language"),
        ({"vocab": {"a": 0, "b": 1, "<bos>": 2, "<eos>": 9}}, "names id 9, but the model has 4 tokens"),
        ({"vocab": None}, "say which is which with `vocab`"),
        (
            {"lengths": [60]},
            "nothing can be asked: length 60 is left out: it takes 61 position ids, and the model has 48",
        ),
        ({"train": None}, "say the longest trained length, as `train` 8"),
        ({"task": None}, "say its task, as `task` reverse"),
    ],
)
def test_what_does_not_fit_is_one_line(gpt2, change: dict, line: str) -> None:
    folder, _, _ = gpt2
    given = {"task": "regex:(aa)*b*", "train": 20, "vocab": folder / "vocab.json"} | change
    with pytest.raises(lw.LengthwiseError, match=line) as error:
        lw.explain(folder, **given)
    assert "\n" not in str(error.value)
    assert "smaller `offset`" not in str(error.value), "none was given"


def test_a_damaged_folder_is_one_line_and_no_weights_are_drawn(gpt2, tmp_path: Path) -> None:
    folder, _, _ = gpt2
    weights, settings = folder / "model.safetensors", json.loads((folder / "config.json").read_text())

    def said(name: str, file: str, content: bytes) -> str:
        made = tmp_path / name
        shutil.copytree(folder, made)
        (made / file).write_bytes(content)
        with pytest.raises(lw.LengthwiseError) as error:
            lw.explain(made, "regex:(aa)*b*", train=20, vocab=made / "vocab.json")
        return str(error.value)

    assert "can't be read as a causal model" in said("cut short", weights.name, weights.read_bytes()[:3000])
    assert "is damaged (not JSON)" in said("no JSON", "config.json", b"{")
    for change in ({"n_layer": settings["n_layer"] + 1}, {"vocab_size": settings["vocab_size"] + 1}):
        other = json.dumps(settings | change).encode()
        assert "are not those of its config.json" in said(next(iter(change)), "config.json", other)
    with pytest.raises(lw.LengthwiseError, match="is one file of a model; name its folder"):
        lw.explain(weights, "regex:(aa)*b*", train=20)
    (script := tmp_path / "train.py").write_text("print()")
    with pytest.raises(lw.LengthwiseError, match=r"train\.py is no model; name a run directory"):
        lw.explain(script, "regex:(aa)*b*", train=20)


@pytest.mark.parametrize("run", ["arithmetic/results/addition-methods", "golowich/results/golowich-ablations"])
def test_a_run_that_keeps_its_results_alone_is_said_to_and_how_to_train_it_again(run: str) -> None:
    """With its configuration beside them, or without."""
    folder = next((ROOT / "studies" / run).glob("*/result.json")).parent
    with pytest.raises(lw.LengthwiseError, match="keeps the results of a run, and not its model") as error:
        lw.explain(folder)
    (again,) = re.findall(r"`lengthwise run --config (\S+)`", str(error.value))
    (job,) = read_recipe(Path(again)).jobs
    values = json.loads((folder / "result.json").read_text("utf-8"))
    assert list(job.seeds) == [values["seed"]]
    assert job.experiment.task.name == values["experiment"]["task"]["name"]


def test_lengths_fit_the_model_unless_they_are_chosen(gpt2) -> None:
    folder, _, _ = gpt2
    subject = subject_of(folder, TASKS.build("regex:(aa)*b*"), train=20, vocab=folder / "vocab.json")
    assert subject.lengths(None)[-2:] == [40, 47]
    assert subject.left_out(None) == ["asked to length 47: the model has room for no longer ones"]
    assert subject.left_out([10, 60]) == ["length 60 is left out: it takes 61 position ids, and the model has 48"]


@pytest.mark.parametrize("missing", [{"train": None}, {"task": None}, {"vocab": None}, {"vocab": "none.json"}])
def test_what_is_missing_is_found_before_anything_is_loaded(gpt2, missing: dict, monkeypatch) -> None:
    folder, _, _ = gpt2
    monkeypatch.setattr("lengthwise.explanation.model.subject_of", lambda *_, **__: pytest.fail("it was loaded"))
    with pytest.raises(lw.LengthwiseError):
        lw.explain(folder, **{"task": "regex:(aa)*b*", "train": 20, "vocab": folder / "vocab.json"} | missing)


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
    assert [f.length for f in found.failures.smallest] == [2, 2]
    assert found.answer.startswith("not learned")
    assert found.program is not None
    assert found.program.rate(inside=True) == found.program.rate(inside=False) == 1
