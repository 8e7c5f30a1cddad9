"""A model with a rule of position ids is explained under that rule: in memory, and from the folder of a saved one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import lengthwise as lw
from lengthwise.audit.model import LocalModel
from lengthwise.explanation.advice import Call, advice
from lengthwise.explanation.failures import Failures
from lengthwise.explanation.model import subject_of
from lengthwise.explanation.verdict import LengthShares, Share

transformers = pytest.importorskip("transformers")
hf = lw.hf


def llama(vocab: int = 20) -> torch.nn.Module:
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=vocab, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4
        )
    ).eval()


@pytest.fixture
def attached() -> torch.nn.Module:
    return hf.attach(llama(), hf.CoupledPlaces("addition", {"name": "coupled", "draw": "pose", "max_position": 40}))


def test_a_saved_model_is_read_under_its_rule(attached, tmp_path: Path) -> None:
    attached.save_pretrained(tmp_path)
    for model in (attached, tmp_path):
        subject = subject_of(model, None, train=4)
        assert subject.task.name == "addition"
        batch = subject.task.batch(6, 3, lw.stream(0))
        own = attached(torch.from_numpy(batch.input_ids)).logits[:, :-1]
        found = torch.from_numpy(subject.logits(batch))
        read = subject.output_ids >= 0
        torch.testing.assert_close(found[..., read], own[..., subject.output_ids[read]], atol=1e-5, rtol=1e-4)
        plain = llama()(torch.from_numpy(batch.input_ids)).logits[:, :-1]
        assert not torch.allclose(found[..., read], plain[..., subject.output_ids[read]], atol=1e-3)


@pytest.mark.parametrize(("most", "end"), [(40, None), (200, 197), (5000, 512)])
def test_where_all_is_right_the_end_of_the_trained_ids_is_asked_next(most: int, end: int | None) -> None:
    rule = hf.CoupledPlaces("addition", {"name": "coupled", "draw": "contiguous", "max_position": most})
    rows = tuple(LengthShares(n, Share(128, 128), Share(20, 20)) for n in (4, 37))
    subject = subject_of(hf.attach(llama(), rule), None, train=4)
    told, command = advice(subject, Call("m", {"train": 4}), Failures(rows, (), None, None, 4))
    assert command == (f"lengthwise explain m --train 4 --lengths 4,37,{end}" if end else "")
    assert ("no room" in told) == (end is None)
    assert end in (None, 512, rule.reach())


@pytest.mark.parametrize("near", [None, 1])
def test_what_has_not_learned_and_attends_to_everything_may_attend_to_near_ids(near: int | None) -> None:
    rule = hf.CoupledPlaces("addition", {"name": "coupled", "draw": "contiguous", "max_position": 200})
    rows = tuple(LengthShares(n, Share(50, 128), Share(20, 20)) for n in (4, 12))
    subject = subject_of(hf.attach(llama(), rule, near=near), None, train=4)
    told, _ = advice(subject, Call("m", {"train": 4}), Failures(rows, (), None, None, 4))
    assert told.startswith("Train longer")
    assert ("near=1" in told) == (near is None)


def test_memory_and_folder_give_the_same_explanation(attached, tmp_path: Path) -> None:
    attached.save_pretrained(tmp_path)
    settings = {"train": 4, "lengths": [2, 4, 7], "samples": 8}
    before = attached.config._attn_implementation
    here, there = lw.explain(attached, **settings), lw.explain(tmp_path, **settings)
    assert attached.config._attn_implementation == before
    assert {**here.to_json(), "model": ""} == {**there.to_json(), "model": ""}
    assert not here.command, "the same call again tells nothing new"
    # Tokens and ids of such a rule are known, so it is the training.
    assert here.next.startswith("Train longer, with twice the steps. If that was")
    assert "its position ids are those of the rule CoupledPlaces" in here.lines
    assert here.heads is not None
    assert "were all seen in training" in here.heads.ids
    # Weights are random: nothing was learned that could break.
    assert here.lines[0] == here.answer
    asked = sum(row.random.n for row in here.failures.rows if row.length <= 4)
    assert here.answer.startswith(f"not learned: 0 of {asked} right at trained lengths")
    assert "breaks" not in here.answer


def test_a_learned_table_that_is_too_small_for_the_rule_leaves_lengths_out() -> None:
    config = transformers.GPT2Config(vocab_size=20, n_positions=40, n_embd=16, n_layer=1, n_head=2)
    model = hf.attach(
        transformers.GPT2LMHeadModel(config), lambda tokens: (2 * torch.arange(tokens.shape[1])).expand(tokens.shape)
    )
    task = lw.task({"name": "copy", "symbols": "repeats"})
    vocab = {token: number for number, token in enumerate(task.vocab.tokens)}
    found = lw.explain(model, task, train=4, lengths=[3, 4, 8, 20], samples=8, vocab=vocab)
    assert [row.length for row in found.accuracy.rows] == [3, 4, 8]
    assert any(line.startswith("length 20 is left out: the rule gives position ids") for line in found.lines)


def test_a_rule_of_one_s_own_is_named_in_one_line(tmp_path: Path) -> None:
    model = hf.attach(llama(), lambda tokens: (torch.arange(tokens.shape[1]) // 2).expand(tokens.shape))
    model.save_pretrained(tmp_path)
    with pytest.raises(lw.LengthwiseError, match=r"attach\(model, rule\), and pass on the model itself") as error:
        lw.explain(tmp_path, "addition", train=4)
    assert "\n" not in str(error.value)


def test_a_trained_length_that_the_ids_do_not_reach_is_one_line_about_it(attached) -> None:
    with pytest.raises(
        lw.LengthwiseError, match=r"longest length that the model was trained on, got 80, .* to length 37,"
    ):
        lw.explain(attached, train=80)


def test_a_saved_rule_tells_the_same_before_the_model_is_loaded(attached, tmp_path: Path) -> None:
    attached.save_pretrained(tmp_path)
    code = (
        "import sys, lengthwise as lw\ntry:\n    lw.explain('.', train=80)\nexcept lw.LengthwiseError as error:\n"
        "    assert 'got 80' in str(error) and 'up to length 37' in str(error), error\n"
        "else:\n    raise AssertionError\nassert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_ids_of_the_rule_leave_no_offset(attached, tmp_path: Path) -> None:
    with pytest.raises(lw.LengthwiseError, match="rule gives its position ids; leave `offset` at 0, got 3"):
        lw.explain(attached, train=4, offset=3)
    with pytest.raises(lw.LengthwiseError, match=r"has no rule of position ids; give one: attach\(model, rule\)"):
        hf.attach(llama())
    llama().save_pretrained(tmp_path)
    with pytest.raises(lw.LengthwiseError, match="was saved without a rule of position ids"):
        hf.attach(transformers.LlamaForCausalLM.from_pretrained(tmp_path))
    with pytest.raises(
        lw.LengthwiseError, match="rule of position ids is one of task 'addition', and `task` is 'rever"
    ):
        lw.explain(attached, "reverse", train=4)
    # Other settings of the same task are named, in memory and before a folder is loaded.
    attached.save_pretrained(tmp_path)
    for model in (attached, tmp_path):
        with pytest.raises(lw.LengthwiseError, match=r"of task Addition\(base=10.*, and `task` is Addition\(base=4"):
            lw.explain(model, {"name": "addition", "base": 4}, train=4)


def test_a_huge_folder_is_not_searched_for_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lengthwise.api.explain.MOST_FOLDERS", 3)
    for number in range(4):
        (tmp_path / str(number)).mkdir()
    with pytest.raises(lw.LengthwiseError, match="holds more than 3 folders and is no model; name the folder of"):
        lw.explain(tmp_path)


def test_what_a_folder_lacks_is_said_before_a_model_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(lw.LengthwiseError, match=r"no config.json and model.safetensors \(and no result.json of a run"):
        lw.explain(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(lw.LengthwiseError, match=r"its task, as `task` reverse.*longest trained length, as `train` 8"):
        lw.explain(tmp_path)
    code = (
        "import sys, lengthwise as lw\ntry:\n    lw.explain('none')\nexcept lw.LengthwiseError as error:\n"
        "    assert 'no model at none' in str(error)\nassert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_a_saved_rule_is_never_forgotten(attached, tmp_path: Path) -> None:
    attached.save_pretrained(tmp_path)
    hf.task_tokenizer("addition", ()).save_pretrained(tmp_path)
    load = transformers.LlamaForCausalLM.from_pretrained
    for read in (
        lambda: hf.right_answers(load(tmp_path), "addition", [2], size=2),
        lambda: hf.language_model(load(tmp_path)),
        lambda: lw.explain(load(tmp_path), "addition", train=4),
        lambda: LocalModel(str(tmp_path)),
    ):
        with pytest.raises(lw.LengthwiseError, match=r"saved with a rule of position ids.*call lengthwise.hf.attach"):
            read()
    again = hf.attach(load(tmp_path))
    # An audit reads what `generate` reads.
    words = hf.task_tokenizer("addition", ())
    ids = torch.tensor([words("3 1 + 4 5 =")["input_ids"]])
    told = again.generate(ids, max_new_tokens=3, do_sample=False, eos_token_id=None)[0, ids.shape[1] :]
    told = words.decode(told, skip_special_tokens=True)
    assert LocalModel(again, words).ask("3 1 + 4 5 =", 3).text == told


def test_our_own_model_of_transformers_is_a_run() -> None:
    experiment = lw.Experiment("copy", scheme="coupled", encoding="rope", max_length=6)
    model = hf.LengthwiseForCausalLM(hf.LengthwiseConfig.of(experiment.configuration))
    subject = subject_of(model, None)
    assert (subject.train, subject.scheme) == (6, experiment.configuration.scheme)
    assert subject.network.model is model.transformer
