"""What became better since an earlier explanation, and that its advice is not repeated."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch

import answering
import lengthwise as lw
from answering import TASK
from lengthwise.core.errors import LengthwiseError
from lengthwise.explanation.before import PAGE, Before
from lengthwise.explanation.explain import Explanation
from lengthwise.explanation.model import subject_of

ZEROS = "both numbers have leading zeros"
SETTINGS = {"train": 5, "lengths": [4, 5, 8], "samples": 32}
TRAINED = {**SETTINGS, "lengths": [4, 5]}


def adder(share: float = 0.0, reach: int = 99, slip=lambda prompt, answer: answer):
    """Logits that end this share of sums of two numbers with leading zeros early, and all sums of more digits."""

    def says(prompt: list[str], right: list[str]) -> list[str]:
        answer, drawn = slip(prompt, right), sum(TASK.vocab.encode(prompt)) % 10
        early = (TASK.of_kind(ZEROS, prompt) and drawn < 10 * share) or len(answer) - 2 > reach
        return [*answer[:-2], "<eos>", "<eos>"] if early else answer

    return answering.adder(says)


@pytest.fixture(scope="module")
def first() -> Explanation:
    return lw.explain(adder(1.0), TASK, **SETTINGS)


def test_what_became_better_is_told_with_its_counts(first: Explanation) -> None:
    assert first.failures.kinds[0].kind == ZEROS
    assert first.before == ()
    then = lw.explain(adder(0.3, reach=6), TASK, before=first, **SETTINGS)
    random, kind = then.before
    assert (random.then, random.now, random.how) == ("right to 8", "right to 6, breaks at 7 (0 % right)", "worse")
    assert random.more == "Random strings are surely worse at 8. For these, keep logits."
    assert (kind.strings, kind.how) == (ZEROS, "better")
    wrong, n, at = map(int, re.findall(r"\d+", kind.then))
    now, of, same = map(int, re.findall(r"\d+", kind.now))
    assert (wrong, n, at) == (n, n, first.failures.kinds[0].length)
    assert same == at
    (asked,) = (way for way in then.failures.asked if way.how == ZEROS)
    assert (now, of) == (asked.at(at).n - asked.at(at).right, asked.at(at).n)
    assert 0 < now < wrong
    shown = " ".join(then.text().split())
    assert shown.index(f"{kind.then} {kind.now} better") < shown.index("first breaks at") < shown.index("why")
    assert shown.index(random.more) < shown.index("first breaks at")


def test_the_worst_kind_is_told_although_it_did_not_change_and_another_did() -> None:
    def slips(prompt: list[str], answer: list[str]) -> list[str]:
        return [*answer[:-2], "<eos>", "<eos>"] if TASK.of_kind("the numbers are equal", prompt) else answer

    old = lw.explain(adder(1.0, slip=slips), TASK, **TRAINED)
    assert [each.kind for each in old.failures.kinds[:2]] == [ZEROS, "the numbers are equal"]
    now = lw.explain(adder(1.0), TASK, before=old, **TRAINED)
    assert now.failures.kinds[0].kind == ZEROS
    (same,) = [each for each in now.before if each.strings == ZEROS]
    assert same.how in ("same", "unsure")
    assert any(each.strings == "the numbers are equal" and each.how == "better" for each in now.before)


def test_right_tokens_that_became_likelier_are_told_of_a_kind_that_is_wrong_as_often() -> None:
    def nearly(share: float):
        wrong, right = adder(1.0), adder()

        def logits(ids: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
            return 8 * (wrong(ids, places) + share * right(ids, places))

        return logits

    old = lw.explain(nearly(0.0), TASK, **TRAINED)
    for share, told in ((0.9, True), (0.1, False)):
        subjects = [subject_of(nearly(of), TASK, train=5) for of in (0.0, share)]
        now = lw.explain(nearly(share), TASK, **TRAINED)
        said = Before(old.model, old.task, old.failures, subjects[0]).since(now.failures, subjects[1], 0)
        (row,) = [each for each in said if each.strings == ZEROS]
        assert row.how == "same"
        assert row.more.startswith("The right token had a probability of 0.00 in these, and now 0.") is told


def test_a_mended_kind_is_told_although_it_fails_no_more(first: Explanation) -> None:
    now = lw.explain(adder(), TASK, before=first, **SETTINGS)
    assert now.faults == []
    assert now.before[1].strings == ZEROS
    assert re.fullmatch(r"0 of \d+ at \d", now.before[1].now)


def test_values_that_fail_now_are_asked_of_the_earlier_model_in_the_same_strings() -> None:
    def slips(prompt: list[str], answer: list[str]) -> list[str]:
        columns = [*zip(*(number.split() for number in " ".join(prompt[1:-1]).split(" + ")), strict=True)]
        many = columns.count(("8", "9")) + columns.count(("9", "8")) > 1
        return [*answer[:-2], "<eos>", "<eos>"] if many else answer

    right, wrong = adder(), adder(slip=slips, reach=6)
    now = lw.explain(wrong, TASK, **SETTINGS)
    cause = now.failures.common
    assert cause is not None
    assert "8 + 9" in cause.strings
    subjects = [subject_of(model, TASK, train=5) for model in (right, wrong)]
    earlier = lw.explain(right, TASK, **SETTINGS)
    before = Before(earlier.model, earlier.task, earlier.failures, subjects[0])
    *_, said = before.since(now.failures, subjects[1], 0)
    at, n = cause.trained, cause.each
    assert (said.strings, said.then) == (f"half of the columns are {cause.worst.name}", f"0 of {n} at {at}")
    asked = int(said.now.partition(" ")[0])
    assert at != cause.length or asked == n - cause.worst.right


def test_the_explanation_before_is_read_from_its_folder_or_found_by_its_model(
    first: Explanation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first.save(PAGE.format("my-adder"))
    (tmp_path / "my-adder").mkdir()
    found = [
        lw.explain(adder(), TASK, before=before, **SETTINGS).before
        for before in (first, "my-adder", Path("explain-my-adder"), tmp_path / "my-adder")
    ]
    assert len({*found}) == 1
    assert found[0]


def test_what_is_no_such_explanation_is_one_line(first: Explanation, tmp_path: Path) -> None:
    folder = first.save(tmp_path / "one").parent
    whole = json.loads((folder / "explanation.json").read_text())
    with pytest.raises(LengthwiseError, match=r"explain the earlier model first: lengthwise explain .*none$"):
        lw.explain(adder(), TASK, before=tmp_path / "none", **SETTINGS)
    for text, line in (
        (json.dumps({**whole, "failures": {**whole["failures"], "more": 1}}), "more"),
        (json.dumps({"model": "m"}), "is no explanation"),
        ("[1]", "is no explanation"),
        ("{", "explanation.json"),
        (json.dumps({**whole, "failures": 1}), "is no explanation"),
    ):
        (folder / "explanation.json").write_text(text)
        with pytest.raises(LengthwiseError, match=line) as refused:
            lw.explain(adder(), TASK, before=folder, **SETTINGS)
        assert "\n" not in str(refused.value)
    other = lw.task("copy")
    with pytest.raises(LengthwiseError, match=r"^the explanation before is of addition, this one of copy"):
        lw.explain(lambda ids, _: torch.zeros(*ids.shape, len(other.vocab)), other, before=first, **SETTINGS)
