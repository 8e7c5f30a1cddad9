"""Every task as a data set of Hugging Face; `Trainer` trains stock and own models on it and keeps the ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny import tiny
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, Trainer, TrainingArguments

from lengthwise.audit.model import prompt_ids
from lengthwise.audit.questions import (
    FILLER,
    FORMS,
    NATURAL,
    AuditPlan,
    Problem,
    PromptForm,
    natural_questions,
    relevance,
    sweep_questions,
    text_of,
)
from lengthwise.audit.scoring import RIGHT, outcome
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.experiments.run_config import RunConfig
from lengthwise.hf import (
    CoupledPlaces,
    LengthwiseConfig,
    LengthwiseForCausalLM,
    attach,
    collate,
    dataset,
    task_tokenizer,
    text_dataset,
)
from lengthwise.hf.data import _batches
from lengthwise.tasks import TASKS


@pytest.mark.parametrize("name", sorted(TASKS))
def test_rows_of_every_task(name: str):
    task = TASKS.build(name)
    length = task.lengths(1, 12)[-1]
    rows = list(dataset(task, [length], scheme="coupled", size=5, rows=3, seed=1))
    again = list(dataset(name, [length], scheme="coupled", size=5, rows=3, seed=1))
    assert len(rows) == 5
    assert rows == again
    for row in rows:
        tokens, labels = np.array(row["input_ids"]), np.array(row["labels"])
        assert ((labels == tokens) | (labels == -100)).all()
        assert np.shape(row["place_ids"]) == (len(tokens), len(task.levels))
        assert "allowed" not in row or np.shape(row["allowed"]) == (len(tokens), len(task.vocab))
    texts = [task.vocab.decode(row["input_ids"]) for row in rows]
    if "allowed" not in rows[0]:
        for text, row in zip(texts, rows, strict=True):
            prompt = next(index for index, label in enumerate(row["labels"]) if label != -100)
            if all(label != -100 for label in row["labels"][prompt:]):
                assert task.solve(text[:prompt]) == text[prompt:]


@pytest.mark.parametrize("texts", [False, True])
def test_code_that_is_gone_breaks_no_data(texts: bool, monkeypatch: pytest.MonkeyPatch):
    """`datasets` pickles what yields rows: other people's classes in our registries must not be reached from there."""

    class Gone:
        def __reduce__(self) -> Any:
            raise AssertionError("pickled")

    monkeypatch.setitem(TASKS._classes, "gone", Gone())
    rows = text_dataset("addition", [2], tokenizer(), size=2) if texts else dataset("addition", [2], size=2)
    assert len(list(rows)) == 2


ZEROS = "both numbers have leading zeros"


def test_data_without_a_size_never_ends():
    rows = iter(dataset("addition", [2, 5]))
    assert {len(next(rows)["input_ids"]) for _ in range(400)} == {3 * 2 + 5, 3 * 5 + 5}


@pytest.mark.parametrize("left", [True, False])
def test_the_collator_pads_and_keeps_ids(left: bool):
    rows = list(dataset("addition", [2, 5], scheme="coupled", size=40))
    batch = collate(left=left, multiple=8)(rows)
    assert batch["input_ids"].shape[1] == 24
    for index, row in enumerate(rows):
        inside = batch["attention_mask"][index].bool()
        for name in ("input_ids", "labels", "place_ids"):
            assert batch[name][index][inside].tolist() == row[name]
        assert (batch["labels"][index][~inside] == -100).all()
        assert (batch["input_ids"][index][~inside] == 0).all()
        assert inside[-1] or not left


@pytest.mark.parametrize("left", [True, False])
def test_columns_keep_their_kind(left: bool):
    rows = [
        {
            "input_ids": [1, 2], "labels": torch.tensor([-100, 2]), "place_ids": [[0.5], [1.25]],
            "allowed": [[True, False]] * 2,
        },
        {"input_ids": [3], "place_ids": [[2]], "allowed": [[False, True]], "labels": torch.tensor([3])},
    ]  # fmt: skip
    batch = collate(left=left, pad=7)(rows)
    assert batch["input_ids"].tolist() == [[1, 2], [7, 3] if left else [3, 7]]
    assert batch["place_ids"].tolist() == [[[0.5], [1.25]], [[0], [2]] if left else [[2], [0]]]
    assert batch["labels"].tolist() == [[-100, 2], [-100, 3] if left else [3, -100]]
    kinds = {name: column.dtype for name, column in batch.items()}
    assert kinds == {
        "input_ids": torch.int64, "labels": torch.int64, "attention_mask": torch.int64, "place_ids": torch.float32,
        "allowed": torch.bool,
    }  # fmt: skip


def test_place_zero_keeps_its_loss():
    """Collators that pack rows set the label to -100 wherever ``position_ids`` is 0; ours has no such column."""
    row = next(iter(dataset("copy", [3], scheme="coupled", size=1)))
    zero = [label for label, place in zip(row["labels"], row["place_ids"], strict=True) if place == [0]]
    assert zero[-1] != -100, "the scored end token has place 0"
    packed = [-100 if place == [0] else label for label, place in zip(row["labels"], row["place_ids"], strict=True)]
    assert packed != row["labels"], "under the name position_ids its loss would be lost"
    batch = collate()([row])
    assert "position_ids" not in batch
    assert batch["place_ids"][0].tolist() == row["place_ids"]
    assert batch["labels"][0].tolist() == row["labels"]


def trained(model: Any, rows: Any, folder: Path, steps: int = 3) -> Any:
    arguments = TrainingArguments(
        str(folder), max_steps=steps, per_device_train_batch_size=8, learning_rate=1e-2, report_to=[],
        save_strategy="no",
        use_cpu=True, disable_tqdm=True, logging_strategy="no",
    )  # fmt: skip
    trainer = Trainer(model=model, args=arguments, train_dataset=rows, data_collator=collate())
    return trainer.train()


def test_trainer_gives_our_model_its_ids(tmp_path: Path):
    found = RunConfig.from_json(
        {
            "task": {"name": "variable-assignment"},
            "scheme": {"name": "predictive-coupling"},
            "encoding": {"name": "rope"},
        }
    )
    seen: list[torch.Tensor] = []

    model = LengthwiseForCausalLM(LengthwiseConfig.of(found))
    model.register_forward_pre_hook(lambda module, args, kwargs: seen.append(kwargs["place_ids"]), with_kwargs=True)
    rows = dataset(found.task, [3, 6], scheme=found.scheme, size=64)
    result = trained(model, rows, tmp_path)
    assert seen
    assert all(ids is not None and ids.shape[2] == 2 for ids in seen)
    assert result.training_loss > 0


def test_trainer_trains_a_stock_model_under_a_rule(tmp_path: Path):
    task = TASKS.build("copy")
    seen: list[torch.Tensor] = []
    rule = CoupledPlaces(task)

    def spied(tokens: torch.Tensor) -> torch.Tensor:
        found = rule.ids(tokens, (tokens != 0).sum(1), True)
        seen.append(found)
        return found

    model = attach(tiny("llama", vocab=len(task.vocab)), spied)
    before = model.model.embed_tokens.weight.clone()
    trained(model, dataset(task, [2, 4], size=64), tmp_path)
    assert len(seen) >= 3
    assert not torch.equal(before, model.model.embed_tokens.weight)


def tokenizer() -> Any:
    words = ["[UNK]", "</s>", *"0123456789+="]
    inner = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="</s>", unk_token="[UNK]")


def test_text_in_the_tokens_of_any_tokenizer():
    task, words = TASKS.build("addition"), tokenizer()
    for row in text_dataset(task, [2, 3], words, form="bare", size=6):
        prompt, answer = row["prompt"].split(), row["answer"].split()
        assert task.solve(["<bos>", *prompt]) == [*answer, "<eos>"]
        assert words.convert_ids_to_tokens(row["input_ids"]) == [*prompt, *answer, "</s>"]
        assert row["labels"] == [-100] * len(prompt) + row["input_ids"][len(prompt) :]


@pytest.mark.parametrize("name", ["addition", "subtraction", "copy"])
def test_rows_of_a_kind_are_as_many_as_was_said_and_the_others_as_before(name: str) -> None:
    task = TASKS.build(name)
    for kind in [kind for kind, given in task.kinds.items() if isinstance(given, tuple)]:
        plain, more = (list(dataset(task, [1, 5], size=640, more=more)) for more in (None, {kind: 0.25}))
        new = [one["input_ids"] for one, other in zip(more, plain, strict=True) if one != other]
        for row in (row for row in more if row["input_ids"] in new):
            text, start = (
                task.vocab.decode(row["input_ids"]),
                next(at for at, label in enumerate(row["labels"]) if label >= 0),
            )
            assert task.of_kind(kind, text[:start])
            assert task.solve(text[:start]) == text[start:] == task.vocab.decode(row["labels"][start:])
        assert 0.05 * len(plain) < len(new) < 0.35 * len(plain)
        assert more == list(dataset(task, [1, 5], size=640, more={kind: 0.25}))


@pytest.mark.parametrize("rows", [1, 2, 7, 64])
def test_rows_of_a_kind_do_not_depend_on_how_many_rows_have_one_length(rows: int) -> None:
    task = TASKS.build("addition")
    for kind in task.kinds:
        made = list(dataset(task, [6], size=40, rows=rows, more={kind: 1.0}))
        held = [task.of_kind(kind, text[: text.index("=") + 1]) for text in
                (task.vocab.decode(row["input_ids"]) for row in made)]  # fmt: skip
        assert sum(held) == 40, kind


def test_rows_of_a_kind_that_nothing_makes_are_drawn_until_it_holds() -> None:
    class Begins(type(TASKS.build("copy"))):  # type: ignore[misc]
        kinds = {"the string begins with a": lambda prompt: prompt[1] == "a"}  # noqa: RUF012

    task = Begins(symbols="repeats", letters=16)
    plain, more = (
        [task.vocab.decode(row["input_ids"]) for row in dataset(task, [6], size=320, more=more)]
        for more in (None, {"the string begins with a": 0.5})
    )
    counts = [sum(text[1] == "a" for text in texts) for texts in (plain, more)]
    assert counts[0] < 0.2 * 320 < 0.4 * 320 < counts[1]
    assert all(task.solve(text[: text.index("<sep>") + 1]) == text[text.index("<sep>") + 1 :] for text in more)


@pytest.mark.parametrize("name", sorted(set(TASKS) - {"language"}))
def test_what_explain_names_is_made(name: str) -> None:
    """All kinds, ways of editing and edge cases of every task."""
    from lengthwise.explanation.kinds import hard_strings
    from lengthwise.explanation.model import subject_of
    from lengthwise.tasks.kinds import EDITS, can_make

    task = TASKS.build(name)
    subject = subject_of(lambda ids, _: torch.zeros(*ids.shape, len(task.vocab)), task, train=12)
    length = task.lengths(6, 20)[0]
    named = dict.fromkeys(kind for kind, _ in hard_strings(subject, length, 16, stream(0), None))
    assert all(can_make(task, kind) for kind in named)
    for kind in [kind for kind in named if kind not in EDITS][:: max(1, len(named) // 4)]:
        assert len(list(dataset(task, [length], size=8, more={kind: 1.0}))) == 8


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", sorted(TASKS))
def test_a_model_is_trained_on_what_an_audit_asks(name: str, form: str):
    """Of every task in every form: the same text for the same problem, the tokens of its prompt, and no other word."""
    task = TASKS.build(name)
    if name == "language":
        with pytest.raises(LengthwiseError, match="choose another task"):
            list(text_dataset(task, [4], task_tokenizer(task), form=form, size=1))
        return
    lengths, natural = task.lengths(2, 12), TASKS.describe(task)["name"] in NATURAL
    length = lengths[0]
    for digits, words in (("blanks", task_tokenizer(task)), *([("natural", byte_level())] if natural else [])):
        plan = AuditPlan(task, (length, lengths[-1]), samples=3, shots=0, forms=(form,), digits=digits)
        (batch,) = _batches(task, [length], 3, 16, 0)
        plan._drawn["problems", length] = [
            Problem(*text_of(task, batch, row, digits), relevance(batch, row)) for row in range(3)
        ]
        rows = list(text_dataset(task, [length], words, form=form, digits=digits, size=3))
        asked = natural_questions(plan)
        assert [(q.prompt, q.expected) for q in asked[:3]] == [(row["prompt"], row["answer"]) for row in rows]
        for row in rows:
            prompt = prompt_ids(words, row["prompt"])
            answer = row["input_ids"][len(prompt) :]
            assert row["input_ids"][: len(prompt)] == prompt
            assert row["labels"] == [-100] * len(prompt) + answer
            assert outcome(words.decode(answer, skip_special_tokens=True), row["answer"]) == RIGHT
        for question in (*asked, *sweep_questions(plan, form)):
            assert words.unk_token is None or words.unk_token_id not in words(question.prompt)["input_ids"]


@pytest.mark.parametrize("name", sorted(set(TASKS) - {"language"}))
def test_the_tokens_of_bare_text_are_those_of_the_task(name: str):
    """So a model of `dataset` can be asked in text."""
    task = TASKS.build(name)
    length = task.lengths(1, 12)[-1]
    words = task_tokenizer(task, ())
    assert len(words) == len(task.vocab) + 1
    ids = [row["input_ids"] for row in dataset(task, [length], size=3)]
    rows = list(text_dataset(task, [length], words, form="bare", size=3))
    ends = [[*row, 3] if row[-1] != 3 else row for row in ids]
    assert [row["input_ids"] for row in rows] == ends, "the end token is added where a task has none"


def test_filler_stands_before_and_behind_a_problem():
    rows = [row["prompt"] for row in text_dataset("copy", [3], task_tokenizer("copy"), filler=30, size=60)]
    counts = {(row.split("Input:")[0].count("#") > 0, "#" in row.split("Input:")[1]) for row in rows}
    assert counts == {(one, other) for one in (True, False) for other in (True, False)}
    known = {*FILLER, "#", "Input:", "Output:", "=>"}
    assert all(word in known or word.isdigit() for row in rows for word in row.split())


def test_a_form_without_a_mark_or_a_separator():
    close = PromptForm("close", separator="")
    (row,) = text_dataset("parity", [4], byte_level(), form=close, size=1)
    assert row["prompt"].isdigit() or set(row["prompt"]) <= set("01=>")
    assert " " not in byte_level().decode(row["input_ids"])
    with pytest.raises(LengthwiseError, match="run together without a separator"):
        list(text_dataset("copy", [9], task_tokenizer("copy"), form=close, size=9))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: dataset("addition", []), "lengths is empty; give at least one number"),
        (lambda: dataset("addition", 5), "lengths must be a list of whole numbers"),
        (lambda: dataset("addition", [5], size=-1), "size must be at least 1, got -1"),
        (lambda: dataset("addition", [5], rows=0), "rows must be at least 1, got 0"),
        (lambda: dataset("addition", [0]), "no instances of length 0"),
        (lambda: dataset("additon", [3]), "Did you mean 'addition'?"),
        (lambda: dataset("addition", [3], more={"zeros": 0.1}), "names no kind 'zeros'; did you mean 'both numbers "),
        (lambda: dataset("addition", [3], more={"odd": 0.1}), "names no kind 'odd'; known are 'both numbers have"),
        (lambda: dataset("addition", [3], more={ZEROS: "all"}), "in more must be a number above 0, got 'all'"),
        (
            lambda: dataset("addition", [3], more={ZEROS: 0.6, "no column carries": 0.6}),
            "must sum to at most 1, got 1.2",
        ),
        (lambda: dataset("addition", [1], more={ZEROS: 0.1}), "no strings of lengths [1] can be made of kind"),
        (lambda: text_dataset("addition", [4], tokenizer(), form="line"), "Did you mean 'lines'?"),
        (lambda: text_dataset("copy", [4], tokenizer(), digits="natural"), "no natural digits"),
        (lambda: text_dataset("copy", [4], tokenizer(), filler=-1), "filler must be at least 0"),
        (lambda: next(iter(text_dataset("language", [4], tokenizer()))), "choose another task"),
    ],
)
def test_refusals_are_one_line(call: Any, says: str):
    with pytest.raises(LengthwiseError) as error:
        call()
    assert says in str(error.value)


def byte_level(ends: bool = False, prepends: bool = False, merges: tuple[str, ...] = ()) -> Any:
    """A tokenizer of bytes; it may add <s> in front and </s> behind, put a blank in front, and join some bytes."""
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    words = ["<s>", "</s>", *sorted(alphabet), *(pair.replace(" ", "") for pair in merges)]
    inner = Tokenizer(
        models.BPE({word: index for index, word in enumerate(words)}, [tuple(pair.split()) for pair in merges])
    )
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    inner.decoder = decoders.ByteLevel()
    if prepends:
        inner.normalizer = normalizers.Prepend(" ")
    if ends:
        inner.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="</s>", bos_token="<s>")


@pytest.mark.parametrize("prepends", [True, False])
@pytest.mark.parametrize("ends", [True, False])
def test_prompt_and_answer_are_one_string(ends: bool, prepends: bool):
    """The report: an end token, or a second blank, stood between prompt and answer."""
    words = byte_level(ends, prepends)
    for row in text_dataset("addition", [2, 4], words, form="bare", size=8):
        whole = words(row["prompt"] + " " + row["answer"])["input_ids"]
        assert row["input_ids"] == (whole if ends else [*whole, 1])
        scored = [token for token in row["labels"] if token != -100]
        assert words.decode(scored) == " " + row["answer"] + "</s>"
        assert row["input_ids"][len(row["labels"]) - len(scored) :] == scored
        assert row["input_ids"].count(1) == 1
        assert row["input_ids"].count(0) == ends


def test_a_token_over_the_border_is_refused():
    rows = text_dataset("addition", [2], byte_level(merges=("= Ġ", "=Ġ 1")), form="bare", size=4)
    with pytest.raises(LengthwiseError, match="one token, '= ', holds the end of the prompt") as error:
        list(rows)
    assert "\n" not in str(error.value)
