"""Every rule gives the ids that its definition says, and a model under it generates as in a full pass per token."""

from __future__ import annotations

import json
import warnings
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
from lengthwise.hf import (
    Abacus,
    CoupledPlaces,
    IdRule,
    Interpolated,
    Restart,
    SchemeIds,
    attach,
    collate,
    dataset,
    detach,
)
from lengthwise.hf.rules import Ends, UserRule, built, described, refuse_packed
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
        with pytest.raises(LengthwiseError, match="'<lambda>', a rule of one's own, which no file keeps"):
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
    with pytest.raises(LengthwiseError, match=r"the model has 20 tokens, and .* give the rule token_ids, "):
        attach(transformers.LlamaForCausalLM(config), CoupledPlaces("copy"))


def packed(behind: list[int]) -> torch.Tensor:
    """A whole problem, and tokens behind it."""
    return torch.tensor([ADDITION.batch(3, 1, stream(3, "test")).input_ids[0].tolist() + behind])


@pytest.mark.parametrize("name", RULES)
def test_a_row_of_several_sequences_is_refused_under_every_rule(name: str):
    """The report: the second of two sums in one row got ids 0 without a word."""
    rule, kinds = RULES[name]
    model = attach(tiny(kinds[0], vocab=len(ADDITION.vocab)), rule)
    model.config.bos_token_id = ADDITION.vocab["<bos>"]
    rows = [packed(prompt(2))] + [packed([DIGITS[0]])] * isinstance(rule, CoupledPlaces)
    for row in rows:
        for call in (lambda: model.train()(row), lambda: model.eval()(row), lambda: model.generate(row)):  # noqa: B023
            with pytest.raises(LengthwiseError, match="one sequence a row: turn packing off") as error:
                call()
            assert "\n" not in str(error.value)
    whole = packed([PAD, PAD])
    assert model.eval()(whole).logits.isfinite().all(), "padding without a mask is no second sequence"
    model.generate(packed([]), max_new_tokens=2, do_sample=False)


def test_start_tokens_that_are_separators_or_ends_may_be_repeated():
    row = packed(prompt(2))
    model = attach(tiny("llama", vocab=len(ADDITION.vocab)), Restart(1))
    model.config.bos_token_id = 1
    model(row)
    model = attach(detach(model), UserRule(lambda tokens: torch.arange(tokens.shape[1]).expand(tokens.shape)))
    model.config.eos_token_id = [1, 3]
    model(row)


def test_an_ordinary_token_with_the_number_of_the_default_start_is_no_second_start():
    """Nobody chose 1 and 2 in a vocabulary of one's own; between documents there is an end token all the same."""
    shape = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    ordinary, several = torch.tensor([[1, 5, 1, 7]]), torch.tensor([[1, 5, 2, 1, 7]])
    for own, refused in (({}, [several]), ({"bos_token_id": 1, "eos_token_id": 3}, [ordinary, several])):
        model = attach(
            transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=20, **shape, **own)), Restart(4)
        )
        for row in (ordinary, several):
            for call in (lambda: model(row), lambda: model.generate(row, max_new_tokens=2)):  # noqa: B023
                if any(row is each for each in refused):
                    with pytest.raises(LengthwiseError, match="turn packing off"):
                        call()
                else:
                    call()


def test_a_preview_shows_the_ids_that_the_model_gets_and_a_rule_says_what_it_is():
    mine = {"<bos>": 1, "<eos>": 2} | {token: 3 + index for index, token in enumerate("0123456789+=")}
    rule = CoupledPlaces("addition", {"name": "coupled", "draw": "pose", "max_position": 64}, token_ids=mine)
    row = [mine[token] for token in ("<bos>", *"12+34=", "4")]
    before = torch.random.get_rng_state()
    names, ids = zip(*((name, test) for _, name, test, _ in rule.preview(row).rows), strict=True)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert names == ("<bos>", *"12+34=", "4")
    assert list(ids) == rule.ids(torch.tensor([row]), torch.tensor([len(row)]), training=False)[0].tolist()
    assert ids[1] == ids[4] != ids[2] == ids[5]
    with pytest.raises(LengthwiseError, match="turn packing off"):
        rule.preview([*row, mine["<eos>"], *row])
    assert [row[2] for row in Restart(3).preview([5, 6, 3, 7]).rows] == [0, 1, 0, 1]
    # An answer that is not the task's, as of numbers written the other way round, is told; a part of one is not.
    for text, wrong in (("127+500=6270", ""), ("127+500=62", ""), ("721+005=0726", "7 2 6 0 <eos>"), ("1+2=4", "3 0")):
        notes = rule.preview([mine["<bos>"], *map(mine.__getitem__, text)]).notes
        assert bool(notes) == bool(wrong)
        assert all(wrong in note for note in notes)
    right = [mine["<bos>"], *map(mine.__getitem__, "12+34=460"), mine["<eos>"]]
    padded = CoupledPlaces("addition", rule.scheme, token_ids=mine | {"<pad>": 0})
    assert not padded.preview([*right, 0, 0]).notes, "padding is no answer"
    assert rule.preview([*right[:-1], 99]).notes, "an id that stands for no token of the task is a wrong one"
    same = eval(repr(CoupledPlaces("addition", rule.scheme)), {"CoupledPlaces": CoupledPlaces})
    assert (same.task, same.scheme) == (rule.task, rule.scheme)
    again = eval(repr(SchemeIds("randomized", max_position=99, tokens=9)), {"SchemeIds": SchemeIds})
    assert (again.scheme, again.tokens) == (SCHEMES.build("randomized", max_position=99), 9)
    assert "'max_position': 64" in repr(rule)
    # It bounds the lengths that are reached, so a default is said, too.
    assert "'max_position': 512" in repr(CoupledPlaces("addition", {"name": "coupled", "draw": "pose"}))
    for no_row in ("12+34=46", ["1", "2"], [], [-1]):
        with pytest.raises(LengthwiseError, match=r"tokens \(token ids of one row\)"):
            rule.preview(no_row)
    assert "14 tokens" in repr(rule)


@pytest.mark.parametrize("name", sorted(TASKS))
def test_no_row_of_a_task_is_taken_for_several(name: str):
    task = TASKS.build(name)
    length = task.lengths(1, 40)[0]
    tokens = torch.from_numpy(task.batch(length, 8, stream(2, "test", name)).input_ids)
    refuse_packed(tokens, torch.full((8,), tokens.shape[1]), Ends(1, 3, 0))


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("name", [name for name in RULES if name != "interpolated"])
def test_padding_in_front_changes_no_loss_of_a_training(name: str, kind: str):
    rows = [next(iter(dataset(ADDITION, [length], size=1))) for length in (2, 5, 3)]
    model, losses = attach(tiny(kind, vocab=len(ADDITION.vocab), positions=520), RULES[name][0]).train(), []
    for part in model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    for left in (False, True):
        torch.manual_seed(4)
        losses.append(model(**collate(left=left)(rows), use_cache=False).loss)
    assert torch.allclose(losses[0], losses[1], rtol=1e-4)
    unpadded = []
    if name in ("user", "restart"):
        for row in rows:
            found = model(**collate()([row]), use_cache=False).loss
            unpadded.append(found * sum(label != -100 for label in row["labels"][1:]))
        count = sum(label != -100 for row in rows for label in row["labels"][1:])
        assert torch.allclose(torch.stack(unpadded).sum() / count, losses[1], rtol=1e-4)


def translated(task: Any) -> dict[str, int]:
    return {name: 50 + index for index, name in enumerate(task.vocab.tokens) if name not in ("<pad>", "<sep>")}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda ids: ids.pop("+"), "token_ids lacks tokens of task 'addition': +; give"),
        (lambda ids: [ids.pop("<bos>"), ids.pop("7")], "lacks tokens of task 'addition': <bos> 7;"),
        (
            lambda ids: [ids.pop(each) for each in "3456"],
            "3 4 5 6; give the model's id of each (many are missing: are Addition(",
        ),
        (lambda ids: ids.update({"7": ids["8"]}), "token_ids gives '8' and '7' one id"),
        (lambda ids: ids.update({"7": None}), "token_ids['7'] must be a whole number"),
        (lambda ids: ids.update({"seven": 90}), "token_ids names 'seven', which is no token of task 'addition'"),
    ],
)
def test_token_ids_are_complete(change: Any, says: str):
    ids = translated(TASKS.build("addition"))
    CoupledPlaces("addition", token_ids=ids)
    change(ids)
    for make in (lambda: CoupledPlaces("addition", token_ids=ids), lambda: dataset("addition", [2], token_ids=ids)):
        with pytest.raises(LengthwiseError) as error:
            make()
        assert says in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["addition", "reverse", "parity-scratchpad"])
def test_a_data_set_in_tokens_of_one_s_own_is_the_same_data(name: str):
    task = TASKS.build(name)
    ids = {token: 50 + index for index, token in enumerate(task.vocab.tokens) if token != "<pad>"}
    back = {number: token for token, number in ids.items()}
    for own, plain in zip(dataset(task, [3], size=4, token_ids=ids), dataset(task, [3], size=4), strict=True):
        assert [back[token] for token in own["input_ids"]] == task.vocab.decode(plain["input_ids"])
        words = [back.get(token, token) for token in own["labels"]]
        assert words == [task.vocab.tokens[token] if token >= 0 else token for token in plain["labels"]]


@pytest.mark.parametrize(
    ("task", "text", "says"),
    [
        ("addition", "7 2 1 + 5 =", "operands must have equal length, least significant digit first: 7 2 1 + 5 0 0 ="),
        ({"name": "addition", "operands": "msd_first"}, "7 2 1 + 5 =", "most significant digit first: 7 2 1 + 0 0 5 ="),
        ("addition", "7 2 1 + 5", "not an addition of two numbers"),
        ("addition", "7 2 9", "a whole prompt reads: <bos>"),
        ("subtraction", "7 2 - 5 =", "operands must have equal length, least significant digit first: 7 2 - 5 0 ="),
    ],
)
def test_a_row_without_a_prompt_is_refused_in_the_words_of_its_task(task: Any, text: str, says: str):
    built_task = TASKS.build(task)
    row = torch.from_numpy(built_task.vocab.encode(["<bos>", *text.split()]))[None]
    with pytest.raises(LengthwiseError) as error:
        ids_of(CoupledPlaces(built_task), row)
    assert says in str(error.value)
    assert "\n" not in str(error.value)
    row = torch.from_numpy(TASKS.build("addition").batch(3, 1, stream(0, "test")).input_ids)
    with pytest.raises(
        LengthwiseError, match=r"it lacks the start token <bos> \(the model's id 1\); put that first: <bos> "
    ):
        ids_of(CoupledPlaces("addition"), row[:, 1:])
    with pytest.raises(LengthwiseError, match="the model's token 9 stands for none of the task"):
        ids_of(CoupledPlaces("addition", token_ids=translated(TASKS.build("addition"))), torch.tensor([[9]]))


@pytest.mark.parametrize("name", ["addition", "copy", "parity-scratchpad"])
def test_reach_is_the_longest_that_max_position_suffices_for(name: str):
    rule = CoupledPlaces(name, {"name": "coupled", "draw": "pose", "max_position": 40})
    longest = rule.reach()
    task = TASKS.build(name)
    ids_of(rule, torch.from_numpy(task.batch(longest, 1, stream(0, "test")).input_ids))
    beyond = torch.from_numpy(task.batch(longest + 1, 1, stream(0, "test")).input_ids)
    with pytest.raises(LengthwiseError, match="before training: ids that were never trained are not reached") as error:
        ids_of(rule, beyond)
    assert f"task {name!r} reach to length {longest} at most, see rule.reach()" in str(error.value)
    assert CoupledPlaces("addition", {"name": "coupled", "max_position": 40}).reach() == 40 - 3
    with pytest.raises(LengthwiseError, match="before training"):
        ids_of(SchemeIds("pose", max_position=9), torch.zeros(1, 20, dtype=torch.long))


def test_a_trained_model_under_another_rule_warns(tmp_path: Path):
    def rule(most: int) -> CoupledPlaces:
        return CoupledPlaces(ADDITION, {"name": "coupled", "draw": "pose", "max_position": most})

    def attached(model: Any, given: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            attach(model, given)
        detach(model)
        return [str(each.message) for each in found if "trained under another rule" in str(each.message)]

    model = attach(tiny("llama", vocab=len(ADDITION.vocab)), rule(20))
    model.save_pretrained(tmp_path)
    loaded = transformers.LlamaForCausalLM.from_pretrained(tmp_path)
    assert attached(loaded, rule(20)) == []
    assert ["ids above 20 were never trained" in line for line in attached(loaded, rule(30))] == [True]
    assert len(attached(loaded, Restart(3))) == 1
    assert attached(detach(model), rule(30)) == [], "it was not trained"
    optimizer = torch.optim.SGD(attach(model, rule(20)).parameters(), lr=1e-3)
    model.train()(packed([]), labels=packed([])).loss.backward()
    optimizer.step()
    assert ["ids above 20" in line for line in attached(detach(model), rule(30))] == [True]
    assert attached(model, rule(20)) == []


def test_saving_a_rule_of_one_s_own_warns_and_its_name_is_kept(tmp_path: Path):
    def every_second(tokens: torch.Tensor) -> torch.Tensor:
        return (torch.arange(tokens.shape[1]) // 2).expand(tokens.shape)

    model = attach(tiny("llama"), every_second)
    with pytest.warns(UserWarning, match="the folder keeps no code of the rule 'every_second'"):
        model.save_pretrained(tmp_path)
    loaded = transformers.LlamaForCausalLM.from_pretrained(tmp_path)
    with pytest.raises(LengthwiseError, match="'every_second', a rule of one's own, which no file keeps"):
        attach(loaded)
    with pytest.warns(UserWarning, match="every_second and <lambda>"):
        attach(loaded, lambda tokens: every_second(tokens))
