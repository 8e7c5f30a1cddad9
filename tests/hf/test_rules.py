"""Every rule gives the ids that its definition says, and a model under it generates as in a full pass per token."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from tiny import PAD, SEPARATOR, SHAPES, restarting, slow_greedy, tiny

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.hf import Abacus, CoupledPlaces, IdRule, Interpolated, Restart, SchemeIds, attach
from lengthwise.hf.rules import UserRule, built, described
from lengthwise.positions.schemes import SCHEMES
from lengthwise.tasks import TASKS

ROTARY, EVERY = ("llama", "gpt_neox", "qwen2"), SHAPES
ADDITION = TASKS.build("addition", base=2)
DIGITS = [ADDITION.vocab["0"], ADDITION.vocab["1"]]
RULES: dict[str, tuple[IdRule, tuple[str, ...]]] = {
    "user": (UserRule(lambda tokens: (torch.arange(tokens.shape[1]) // 2).expand(tokens.shape)), EVERY),
    "restart": (Restart(ADDITION.vocab["+"]), EVERY),
    "abacus": (Abacus(DIGITS, offset=5), EVERY),
    "interpolated": (Interpolated(4.0), ROTARY),
    "random start": (SchemeIds("sequential", max_position=100, random_start=True), EVERY),
    "randomized": (SchemeIds("randomized", max_position=100, tokens=40), EVERY),
    "pose": (SchemeIds("pose", max_position=100), EVERY),
    "coupled": (CoupledPlaces(ADDITION), EVERY),
    "coupled, sorted": (CoupledPlaces(ADDITION, {"name": "coupled", "draw": "sorted", "max_position": 90}), EVERY),
    "coupled, pose": (CoupledPlaces(ADDITION, {"name": "coupled", "draw": "pose", "max_position": 90}), EVERY),
}

RULED = {"addition", "copy", "parity", "parity-scratchpad", "recoupled", "reverse", "majority", "look-back"}
"""Some tasks whose places follow from the tokens."""


def prompt(length: int) -> list[int]:
    batch = ADDITION.batch(length, 1, stream(length, "test"))
    return batch.input_ids[0, : batch.prompt_length].tolist()


def ids_of(rule: IdRule, rows: torch.Tensor, *, training: bool = False) -> torch.Tensor:
    return rule.ids(rows, torch.full((len(rows),), rows.shape[1]), training)


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, (_, kinds) in RULES.items() for kind in kinds])
def test_models_generate_under_every_rule(name: str, kind: str):
    rule, _ = RULES[name]
    vocab, steps = len(ADDITION.vocab), 9
    plain, model = (tiny(kind, vocab=vocab) for _ in range(2))
    attach(model, rule)
    prompts = [prompt(3), prompt(5)]
    width = max(map(len, prompts))
    expected = [slow_greedy(plain, row, lambda rows: ids_of(rule, rows), steps) for row in prompts]
    tokens = torch.tensor([[PAD] * (width - len(row)) + row for row in prompts])
    for cached in (True, False):
        found = model.generate(
            tokens, attention_mask=(tokens != PAD).long(), max_new_tokens=steps, do_sample=False, use_cache=cached
        )
        assert found[:, width:].tolist() == expected


@pytest.mark.parametrize("name", sorted(SCHEMES))
def test_every_scheme_is_a_rule_or_one_line(name: str):
    """Ids at test follow from the prefix, and generation under them is that of full passes."""
    scheme = SCHEMES.build(name)
    if scheme.predicted:
        with pytest.raises(LengthwiseError, match="LengthwiseForCausalLM"):
            CoupledPlaces(ADDITION, name)
        return
    rule = CoupledPlaces(ADDITION, name) if scheme.uses_places else SchemeIds(name, tokens=40)
    (model, plain), row = (tiny("llama", vocab=len(ADDITION.vocab)) for _ in range(2)), prompt(3)
    expected = slow_greedy(plain, row, lambda rows: ids_of(rule, rows), 5)
    attach(model, rule)
    for cached in (True, False):
        found = model.generate(torch.tensor([row]), max_new_tokens=5, do_sample=False, use_cache=cached)
        assert found[0, len(row) :].tolist() == expected
    whole = found
    for end in range(len(row), whole.shape[1]):
        assert torch.equal(ids_of(rule, whole[:, :end]), ids_of(rule, whole)[:, :end])


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_kept_as_json(name: str):
    rule, _ = RULES[name]
    kept = json.loads(json.dumps(described(rule)))
    if name == "user":
        with pytest.raises(LengthwiseError, match="'UserRule', a rule of one's own, which no file keeps"):
            built(kept)
        return
    again, rows = built(kept), torch.tensor([prompt(4), prompt(4)])
    assert again.arguments() == rule.arguments()
    for training in (False, True):
        torch.manual_seed(1)
        ids = ids_of(rule, rows, training=training)
        torch.manual_seed(1)
        assert torch.equal(ids_of(again, rows, training=training), ids)


@pytest.mark.parametrize(
    ("kept", "says"),
    [
        ("coupled", "is damaged"),
        ({"rule": ["Restart"], "arguments": {}}, "is damaged"),
        ({"rule": "Restart", "arguments": {"separator": -1}}, "separator"),
        ({"rule": "Restart", "arguments": {"seperator": 3}}, "is damaged"),
        ({"rule": "Mine", "arguments": {}}, "'Mine', a rule of one's own"),
        ({"rule": "CoupledPlaces", "arguments": {"task": "no-such-task"}}, "no-such-task"),
        ({"rule": "CoupledPlaces", "arguments": {"task": {"name": "evil.py:Evil"}}}, "no file that is read runs code"),
    ],
)
def test_what_a_file_keeps_is_checked_and_runs_no_code(
    kept: Any, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("evil.py").write_text("open('ran', 'w').close()")
    with pytest.raises(LengthwiseError, match=says) as error:
        built(kept)
    assert "\n" not in str(error.value)
    assert not Path("ran").exists()


@pytest.mark.parametrize("name", RULES)
def test_ids_follow_from_the_prefix(name: str):
    rule, _ = RULES[name]
    batch = ADDITION.batch(4, 3, stream(0, "test"))
    tokens = torch.from_numpy(batch.input_ids)
    whole = ids_of(rule, tokens)
    for end in range(batch.prompt_length, batch.tokens):
        assert torch.equal(ids_of(rule, tokens[:, :end]), whole[:, :end])


@given(st.lists(st.integers(2, 5), min_size=1, max_size=20))
def test_restart_counts_from_the_last_separator(row: list[int]):
    tokens = torch.tensor([row])
    assert torch.equal(ids_of(Restart(SEPARATOR), tokens), restarting(tokens))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20))
def test_abacus_numbers_the_digits_of_each_number(row: list[int]):
    expected, count = [], 0
    for token in row:
        count = count + 1 if token in (1, 2) else 0
        expected.append(count)
    assert ids_of(Abacus([1, 2]), torch.tensor([row])).tolist() == [expected]
    shifted = ids_of(Abacus([1, 2], offset=7), torch.tensor([row]), training=True)
    moved = shifted - torch.tensor([expected])
    inside = torch.tensor([expected]) > 0
    assert (shifted[~inside] == 0).all()
    assert set(moved[inside].tolist()) <= set(range(8))
    assert len(set(moved[inside].tolist())) <= 1


def test_interpolated_ids_are_fractions():
    assert ids_of(Interpolated(4.0), torch.zeros(1, 5, dtype=torch.long)).tolist() == [[0, 0.25, 0.5, 0.75, 1]]


def test_coupled_places_are_those_of_the_task():
    rule = CoupledPlaces("addition")
    for length in (1, 2, 7):
        batch = TASKS.build("addition").batch(length, 5, stream(1, "test"))
        tokens = torch.from_numpy(batch.input_ids)
        assert np.array_equal(ids_of(rule, tokens).numpy(), batch.places[:, :, 0])
        drawn = ids_of(rule, tokens, training=True).numpy()
        shift = drawn - batch.places[:, :, 0]
        assert (shift[:, 1:] == shift[:, 1:2]).all(), "a block with one start per row"
        assert len(np.unique(shift[:, 1])) > 1
        assert (drawn[:, 0] == 0).all()


@pytest.mark.parametrize("name", sorted(TASKS))
def test_coupled_places_of_every_task_or_one_line(name: str):
    """Either the places are the task's, or one line says why not."""
    task = TASKS.build(name)
    batches = [task.batch(length, 3, stream(2, "test", name)) for length in task.lengths(1, 12)]
    # As long as 12 allows; a scratchpad of whole tapes grows with the square of the length.
    batch = [each for each in batches if each.tokens <= 100 or each is batches[0]][-1]
    refused = ""
    try:
        found = ids_of(CoupledPlaces(task), torch.from_numpy(batch.input_ids)).numpy()
    except LengthwiseError as error:
        refused = str(error)
    else:
        assert np.array_equal(found, batch.places[:, :, 0])
    assert "\n" not in refused
    assert not (refused and name in RULED), refused


def test_coupled_places_take_the_model_s_own_tokens():
    names = {token: 100 + 3 * index for index, token in enumerate(ADDITION.vocab.tokens)}
    batch = ADDITION.batch(3, 2, stream(0, "test"))
    tokens = torch.tensor([[names[token] for token in batch.text(row)] for row in range(2)])
    assert np.array_equal(ids_of(CoupledPlaces(ADDITION, token_ids=names), tokens).numpy(), batch.places[:, :, 0])


@pytest.mark.parametrize("name", ["random start", "randomized", "pose", "coupled", "abacus"])
def test_training_draws_ids_for_each_row_by_its_own_length(name: str):
    rule, _ = RULES[name]
    torch.manual_seed(0)
    rows = torch.from_numpy(ADDITION.batch(4, 40, stream(0, "test")).input_ids)
    first, second = ids_of(rule, rows, training=True), ids_of(rule, rows, training=True)
    assert not torch.equal(first, second)
    assert len({tuple(row) for row in first.tolist()}) > 3
    torch.manual_seed(0)
    assert torch.equal(ids_of(rule, rows, training=True), first)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Restart([]), "separator (token ids) is empty"),
        (lambda: Restart("a"), "separator (token ids) must be a list of whole numbers"),
        (lambda: Restart(1.5), "separator (token ids) must be a whole number, got 1.5"),
        (lambda: Abacus([3, "a"]), "digits (token ids) must be a whole number, got 'a'"),
        (lambda: Interpolated("x"), "factor must be a number above 0, got 'x'"),
        (lambda: Abacus([]), "digits"),
        (lambda: Abacus([1], offset=-1), "at least 0"),
        (lambda: Interpolated(0.0), "above 0, got 0.0"),
        (lambda: SchemeIds("randomized"), "tokens=…"),
        (lambda: SchemeIds("randomized-float"), "tokens=…"),
        (lambda: SchemeIds("coupled"), "CoupledPlaces(task)"),
        (lambda: CoupledPlaces("addition", "pose"), "SchemeIds('pose')"),
        (lambda: CoupledPlaces("addition", "predictive-coupling"), "LengthwiseForCausalLM"),
        (lambda: CoupledPlaces("variable-assignment"), "LengthwiseForCausalLM"),
        (lambda: CoupledPlaces("additon"), "Did you mean 'addition'?"),
        (lambda: ids_of(CoupledPlaces("addition"), torch.full((1, 9), 7)), "begin with a prompt of task 'addition'"),
        (lambda: ids_of(SchemeIds("randomized", tokens=4), torch.zeros(1, 5, dtype=torch.long)), "5 tokens are more"),
    ],
)
def test_refusals_are_one_line(make: Any, says: str):
    with pytest.raises(LengthwiseError) as error:
        make()
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_vocabulary_that_is_too_small_is_refused_before_training() -> None:
    config = transformers.LlamaConfig(
        vocab_size=20, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2
    )
    with pytest.raises(LengthwiseError, match="the model knows 20 tokens, and the rule's task has"):
        attach(transformers.LlamaForCausalLM(config), CoupledPlaces("copy"))
