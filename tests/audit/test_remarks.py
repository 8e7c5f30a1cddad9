"""What a strict reader of an audit missed, each as a law: independent texts, what is unexplained, counts made again."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.api.audit import audit_model
from lengthwise.audit.model import UNKNOWN, Asker, ModelFacts, Reply, RequestFailed
from lengthwise.audit.questions import MARK, AuditPlan, Question, natural_questions, sweep_questions
from lengthwise.audit.run import QUESTIONS, is_beyond, run_audit
from lengthwise.audit.scoring import RIGHT, WRONG, joined
from lengthwise.audit.summary import (
    CULPRITS,
    AskedQuestion,
    by_distance,
    causes,
    cells_of,
    change,
    copies,
    points,
    tally,
)
from lengthwise.core.errors import LengthwiseError
from lengthwise.report.pages import audit_page

PLAN = AuditPlan("retrieval", (8, 64), samples=20, shots=1, forms=("lines",))
LONG = AuditPlan("addition", (3, 6), samples=12, shots=1, forms=("lines",), tokens=(300, 600))


def around(question: Question) -> str:
    """The lines of filler of a prompt."""
    return "\n".join(line for line in question.prompt.splitlines() if line.startswith(MARK))


@pytest.mark.parametrize("plan", [replace(PLAN, lengths=(8, 24, 64)), LONG], ids=["words", "tokens"])
def test_every_problem_of_a_cell_has_texts_of_its_own_which_are_the_same_in_all_cells(plan: AuditPlan):
    cells: dict[Any, list[Question]] = {}
    for question in sweep_questions(plan, "lines"):
        cells.setdefault(question.cell, []).append(question)
    for (sweep, _, level), members in cells.items():
        if members[0].words - members[0].problem > 30:
            assert len({around(each) for each in members}) == len(members), (sweep, level)
        assert len({each.prompt.split("\n\n")[0] for each in members}) > len(members) / 2, "examples of its own"
    for sweep in {"distractors", "prose"} & {key[0] for key in cells}:
        part, whole = [members for key, members in cells.items() if key[0] == sweep][-2:]
        for some, more in zip(part, whole, strict=True):
            words = [word for word in around(some).split() if word != MARK][: (some.distractors or some.prose) - 1]
            assert words == [word for word in around(more).split() if word != MARK][: len(words)], "more of the same"


def outcomes(plan: AuditPlan, right: Any) -> list[AskedQuestion]:
    return [
        AskedQuestion(each, RIGHT if right(each) else WRONG, read=joined(each.others[0]) if each.others else "")
        for each in (*natural_questions(plan), *sweep_questions(plan, "lines"))
    ]


def test_a_drop_that_no_sweep_explains_is_said_with_what_remains():
    answers = outcomes(PLAN, lambda each: each.problem == 8 or each.index % 10 < 7)
    found = causes(cells_of(answers))
    assert found["unexplained"]
    assert found["problem"]["change"] == pytest.approx(-0.3)
    assert "alone explains it" in found["finding"][0]
    assert "samples (100)" in found["says"]
    calm = causes(cells_of(outcomes(PLAN, lambda each: True)))
    assert not calm["unexplained"]
    assert calm["finding"][0].endswith("; nothing that was varied breaks it.")


def row(sweep: str, level: int, right: int, n: int = 20) -> dict[str, Any]:
    return {"sweep": sweep, "level": level, "answered": n, "counts": {RIGHT: right, WRONG: n - right}, "guess": 0.0}


@pytest.mark.parametrize(
    ("right", "begins", "says"),
    [
        ((20, 6, 5, 6), 1, "breaks it at 16 words (6 of 20 right)."),
        ((20, 19, 5, 6), 2, "breaks it at 32 words (5 of 20 right; 6 of 20 at 64 words)."),
        ((20, 20, 19, 3), 3, "breaks it at 64 words (3 of 20 right)."),
        ((20, 3), 1, "breaks it at 16 words (3 of 20 right)."),
        ((20, 3, 20, 3), 1, "breaks it at 16 words (3 of 20 right)."),
    ],
)
def test_a_cause_says_where_its_drop_is_sure(right: tuple[int, ...], begins: int, says: str):
    found = causes([row("length", 8 << i, k) for i, k in enumerate(right)])
    assert found["changes"]["length"]["begins"] == begins
    assert found["finding"] == [f"A longer text alone {says}"]


@given(rights=st.lists(st.integers(0, 20), min_size=2, max_size=6), sweep=st.sampled_from(["length", "problem"]))
def test_a_drop_begins_where_it_is_beyond_chance(rights: list[int], sweep: str):
    """The first level whose interval to the start is below 0; the verdict says it with the right answers there."""
    rows = [row(sweep, 8 << i, k) for i, k in enumerate([20, *rights])]
    found = causes(rows if sweep == "length" else [*rows, row("length", 8, 20)])
    place = found["problem"] if sweep == "problem" else found["changes"]["length"]
    first = next((i for i, k in enumerate(rights, 1) if change(c(20), c(k))["high"] < 0), None)
    assert place["begins"] == first
    said = first is not None and f"at {place['steps'][first]['at']} ({rights[first - 1]} of 20 right" in found["says"]
    assert said == (first is not None and (sweep == "problem" or found["breaks"] == ["length"]))
    if sweep == "problem" and first is None:
        assert found["finding"][0].startswith(("Holds to length", "No drop beyond chance to length"))


def c(right: int, n: int = 20) -> dict[str, Any]:
    return {"counts": {RIGHT: right}, "answered": n}


COUNTS = st.lists(st.integers(0, 20), min_size=2, max_size=5)


@given(length=COUNTS, distractors=COUNTS, problem=COUNTS)
def test_every_number_in_brackets_has_the_sign_of_the_data(
    length: list[int], distractors: list[int], problem: list[int]
):
    counts = {"length": length, "distractors": distractors, "problem": problem}
    found = causes([row(sweep, 8 << i, k) for sweep, rights in counts.items() for i, k in enumerate(rights)])
    for sweep, each in {**found["changes"], "problem": found["problem"]}.items():
        assert each["change"] == pytest.approx((counts[sweep][-1] - counts[sweep][0]) / 20)
        assert each["low"] <= each["change"] <= each["high"]
    known = {points(each) for each in (*found["changes"].values(), found["problem"])}
    assert set(re.findall(r"[+-]\d+ points \[[+-]\d+ to [+-]\d+\]", found["says"])) <= known
    assert "points" not in re.sub(r"[+-]\d+ points \[|a drop of 20 points|one of 20 points", "", found["says"])
    for sweep, beginning in CULPRITS.items():
        assert (sweep in found["breaks"]) == (f"{beginning} break" in found["says"].lower())


def test_near_and_far_are_told_apart_in_the_problems_themselves():
    answers = outcomes(PLAN, lambda each: each.distance < 32)
    says = causes(cells_of(answers), by_distance(answers, "lines"))["says"]
    longest = [each.question.distance < 32 for each in answers if each.question.cell == ("problem", "lines", 64)]
    near = sum(longest)
    assert re.search(
        rf"problems of length 64, right on {near} of {near} where .* on 0 of {20 - near} where it is \d+ to \d+:", says
    )


def test_wrong_answers_are_traced_to_distractors():
    answers = outcomes(PLAN, lambda each: not each.others)
    last = [each for each in answers if each.question.sweep == "distractors" and each.question.level == 5]
    copied, chance = copies(last)
    assert copied == len(last) == 20
    assert 0 < chance < copied
    assert "20 of 20 wrong answers are right for a distractor" in causes(cells_of(answers))["says"]
    # By chance, in another way: each pair of texts of the cell, in one of which the answer of the other is right.
    pairs = sum(one.read in map(joined, other.question.others) for one in last for other in last if one is not other)
    assert chance == pytest.approx(pairs / 19, abs=0.05)


def test_one_distractor_is_the_least_that_is_asked_for():
    answers = outcomes(PLAN, lambda each: not each.others)
    found = causes(cells_of(answers), plan=PLAN, command=lambda plan: "the command")
    assert found["command"] is found["next"] is None
    later = causes(
        cells_of(outcomes(PLAN, lambda each: len(each.others) < 4)), plan=PLAN, command=lambda plan: str(plan)
    )
    assert "ask between 2 distractors and 4 distractors" in later["says"]
    assert "distractors=(0, 1, 2, 3, 4, 5)" in later["command"]


@given(trained=st.tuples(st.integers(2, 99), st.integers(2, 99)).map(sorted), seed=st.integers(0, 1))
def test_lengths_of_training_change_no_question_and_mark_what_is_outside(trained: list[int], seed: int):
    low, high = trained
    plan = replace(PLAN, lengths=(8, 16, 32), samples=1, seed=seed, trained=(low, high))
    longest = plan.problems(high)[0].relevance.words
    for question in (*natural_questions(plan), *sweep_questions(plan, "lines")):
        outside = not low <= question.problem <= high or question.words > longest
        assert is_beyond({"problem": question.problem, "words": question.words}, plan) == outside
    assert natural_questions(plan) == natural_questions(replace(plan, trained=None))
    assert not is_beyond({"problem": 32, "words": 999}, replace(plan, trained=None))


def test_wrong_answers_are_counted_by_kind():
    reads = ["", "?", "copied"]

    def read(each: Question) -> str:
        kind = reads[each.index % 3]
        return each.prompt.split()[3] if kind == "copied" else kind

    answers = [AskedQuestion(each, WRONG, read=read(each)) for each in natural_questions(PLAN)]
    found = tally(answers, "lines")
    chance = found.pop("copied_by_chance")
    assert found == {"level": 64, "wrong": 20, "empty": 7, "other": 7, "copied": 6}
    long = [each for each in answers if each.question.level == 64]
    pairs = [
        one.read in other.question.prompt.split("\n\n")[-1].split() for one in long for other in long if one != other
    ]
    assert chance == pytest.approx(sum(pairs) / 19, abs=0.05)


def test_a_copied_answer_is_the_example_of_the_distractors(tmp_path: Path):
    asked = sweep_questions(PLAN, "lines")
    copied = {each.prompt: each.others[0] for each in asked if each.others and each.index == 3}
    model = Echo("m", "m", PLAN)
    model.answers = {each.prompt: each.expected for each in (*natural_questions(PLAN), *asked)} | copied
    (shown,) = [each for each in run_audit(model, PLAN, tmp_path)["examples"] if each["sweep"] == "distractors"]
    assert shown["outcome"] == "wrong, copied from a distractor"


def test_a_model_that_fails_at_once_is_asked_without_examples():
    plan = replace(PLAN, shots=4)
    further = causes(cells_of(outcomes(plan, lambda each: False)), plan=plan, command=lambda plan: str(plan.shots))
    assert "without examples (shots 0)" in further["says"]
    assert further["command"] == "0"


def test_distance_is_looked_at_in_the_problems_themselves():
    answers = outcomes(PLAN, lambda each: each.distance < 16)
    rows = by_distance(answers, "lines")
    assert sum(row["answered"] for row in rows) == 40
    assert all(row["right"] == (row["answered"] if row["from"] < 16 else 0) for row in rows)
    assert by_distance(outcomes(AuditPlan("copy", (3, 6), 5, 0, ("lines",)), lambda each: True), "lines") == []


class Echo(Asker):
    """Right on problems of a few words, with a name and a place."""

    def __init__(self, name: str, where: str, plan: AuditPlan) -> None:
        self.facts = ModelFacts(name, where, context=4096, encoding="rope")
        self.by_content = where == name
        everything = (*natural_questions(plan), *sweep_questions(plan, "lines"))
        self.answers = {each.prompt: each.expected if each.words < 30 else "?" for each in everything}

    @property
    def identity(self) -> dict[str, Any]:
        return {"name": self.facts.name, "where": self.facts.where}

    def ask(self, prompt: str, budget: int) -> Reply:
        return Reply(self.answers[prompt], prompt_tokens=len(prompt), completion_tokens=1)


SMALL = AuditPlan("retrieval", (8, 40), samples=4, shots=0, forms=("lines",))


def test_counts_can_be_made_again_from_the_questions(tmp_path: Path):
    found = run_audit(Echo("m", "m", SMALL), SMALL, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / QUESTIONS).read_text().splitlines()]
    counts = Counter((line["sweep"], line["form"], line["level"], line["outcome"]) for line in lines)
    for cell in found["cells"]:
        for name, count in cell["counts"].items():
            assert counts[cell["sweep"], cell["form"], cell["level"], name] == count
    kept = {json.loads(line)["key"] for line in (tmp_path / "answers.jsonl").read_text().splitlines()}
    assert {line["key"] for line in lines} == kept
    assert {each["sweep"] for each in found["examples"]} == {cell["sweep"] for cell in found["cells"]}


def test_another_model_s_audit_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    local, server = Echo("m", "m", SMALL), Echo("m", "http://localhost:1/v1", SMALL)
    first, second = audit_model(local, SMALL), audit_model(server, SMALL)
    assert first.file != second.file
    assert audit_model(local, SMALL).file == first.file
    with pytest.raises(LengthwiseError, match="would overwrite; choose another `out`"):
        audit_model(server, SMALL, out=first.file.parent)


def test_progress_counts_questions_as_the_result_does(tmp_path: Path):
    seen: list[tuple[int, int]] = []
    found = run_audit(Echo("m", "m", SMALL), SMALL, tmp_path, lambda *now: seen.append(now))
    assert seen[-1] == (found["requests"], found["requests"])
    assert {total for _, total in seen} == {found["requests"]}


def test_a_page_of_two_models_names_and_shows_both(tmp_path: Path):
    one, two = Echo("first", "first", SMALL), Echo("second", "second", SMALL)
    page = audit_page(run_audit(one, SMALL, tmp_path, against=two))
    assert "<h1>Audit of first and second on retrieval</h1>" in page
    for name in ("first", "second"):
        assert f"Every count, {name}" in page
    assert "Holm" in page
    assert "first alone: " in page
    assert "a larger problem" not in page, "no sweep of the number here"


def test_only_what_applies_is_to_be_checked(tmp_path: Path):
    class Illiterate(Echo):
        def ask(self, prompt: str, budget: int) -> Reply:
            raise RequestFailed(UNKNOWN, "the tokenizer has no token for '4'")

    says = run_audit(Illiterate("m", "m", SMALL), SMALL, tmp_path)["no_response"]
    assert "check whether the tokenizer has the task's words, and give" in says
    assert "key" not in says
