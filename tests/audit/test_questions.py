"""Prompts say in words what to do, in natural digits too, and in templates of one's own."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.audit.questions import (
    FILLER,
    INSTRUCTIONS,
    MOST_OTHERS,
    NATURAL,
    AuditPlan,
    Question,
    filler,
    instruction,
    natural_questions,
    sweep_questions,
)
from lengthwise.cli.main import main
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.tasks import TASKS

EXPORTABLE = sorted({TASKS.describe(TASKS.build(name))["name"] for name in TASKS} - {"language", "planted", "recoupled",
                    "task-hinting", "traced"})  # fmt: skip


@pytest.mark.parametrize("name", EXPORTABLE)
def test_every_task_is_explained_in_words(name: str):
    text = instruction(TASKS.build(name))
    assert name in INSTRUCTIONS
    assert text[0].isupper()
    assert text.endswith(".")
    assert not re.search(r"[{}]", text)


def test_addition_is_called_so():
    assert instruction(TASKS.build("addition")).startswith("Add the two numbers. Digits are separated by blanks, least")
    assert "most" in instruction(TASKS.build({"name": "addition", "operands": "msd_first"}))
    assert instruction(TASKS.build("addition"), "natural") == "Add the two numbers."
    assert instruction(TASKS.build("binary-multiplication"), "natural") == "Multiply the two binary numbers."


OPERATIONS: dict[str, Any] = {
    "addition": lambda a, b: a + b, "subtraction": lambda a, b: a - b, "multiplication": lambda a, b: a * b,
    "binary-addition": lambda a, b: a + b,
}  # fmt: skip


@pytest.mark.parametrize("settings", [
    *OPERATIONS, {"name": "addition", "operands": "msd_first"}, "binary-multiplication", "multiplication-by-2-digits",
], ids=str)  # fmt: skip
def test_natural_numbers_are_right(settings: Any):
    task = TASKS.build(settings)
    name = TASKS.describe(task)["name"]
    base = 2 if name == "binary-addition" or getattr(task, "base", 10) == 2 else 10
    lengths = (task.lengths(3, 8)[0], task.lengths(3, 8)[-1])
    plan = AuditPlan(task, lengths, samples=20, shots=1, forms=("lines",), digits="natural")
    for question in natural_questions(plan):
        a, b = re.findall(r"\d+", question.prompt.split("Input: ")[-1])[:2]
        assert int(question.expected, base) == OPERATIONS[name](int(a, base), int(b, base))
        assert len(a) <= 8


def test_natural_sums_of_several_numbers():
    plan = AuditPlan(TASKS.build("addition-multi"), (2, 4), samples=9, shots=0, forms=("lines",), digits="natural")
    for question in natural_questions(plan):
        assert int(question.expected) == sum(map(int, re.findall(r"\d+", question.prompt)))
    assert set(NATURAL) == {*OPERATIONS, "addition-multi"}
    with pytest.raises(LengthwiseError, match="no natural digits"):
        AuditPlan(TASKS.build("copy"), (2, 4), digits="natural")


def test_an_answer_may_have_as_many_tokens_as_the_plan_says():
    """A model that reasons needs thousands; without a number there is room for the right answer."""
    for most in (3000, None):
        plan = AuditPlan("addition", (3, 30), samples=2, shots=0, forms=("lines",), answer_tokens=most)
        for question in (*natural_questions(plan), *sweep_questions(plan, "lines")):
            assert question.budget == most if most else question.budget >= 6 * len(question.expected.split())


@pytest.mark.parametrize("words", [0, 1, 2, 9, 10, 11, 57])
@pytest.mark.parametrize("others", [0, 1, 8, 30])
def test_filler_has_as_many_words_as_asked_for(words: int, others: int):
    text = filler(words, stream(0, "filler"), ["7"] * others)
    assert len(text.split()) == words
    assert all(line.startswith("#") for line in text.splitlines())
    assert text.split().count("7") <= others


def test_distractors_replace_filler_and_nothing_else():
    plan = AuditPlan(TASKS.build("addition"), (3, 6, 12), samples=3, shots=1, forms=("lines",))
    found = [question for question in sweep_questions(plan, "lines") if question.sweep == "distractors"]
    assert len({(q.words, q.distance, q.number, q.problem) for q in found}) == 1
    assert [*dict.fromkeys(q.level for q in found)] == [0, 1, 2]
    lengths = {question.prompt for question in sweep_questions(plan, "lines") if question.sweep == "length"}
    assert all(q.prompt in lengths for q in found if q.distractors == 0), "begins where the length ended"
    for q in found:
        marked = " ".join(line for line in q.prompt.splitlines() if line.startswith("#"))
        assert sum(word.isdigit() or word in "+=" for word in marked.split()) == q.distractor_words


@given(
    lengths=st.tuples(st.integers(2, 6), st.integers(12, 40)), seed=st.integers(0, 3),
    name=st.sampled_from(["addition", "retrieval", "copy"]), tokens=st.sampled_from([(), (400, 900)]),
)  # fmt: skip
@settings(max_examples=20)
def test_distractors_are_whole_problems(lengths: tuple[int, int], seed: int, name: str, tokens: tuple[int, ...]):
    """Each is a line that is a problem of the shortest length; doses double, and with one more none would fit."""
    plan = AuditPlan(TASKS.build(name), lengths, samples=2, shots=0, forms=("bare",), seed=seed, tokens=tokens)
    cells: dict[int, list[Question]] = {}
    for question in sweep_questions(plan, "bare"):
        if question.sweep == "distractors":
            cells.setdefault(question.level, []).append(question)
    for level, members in cells.items():
        for q in members:
            whole = [plan.other(q.index, i % MOST_OTHERS) for i in range(q.distractors)]
            lines = [line.removeprefix("# ") for line in q.prompt.splitlines() if line.startswith("# ")]
            assert lines[: q.distractors] == [each.text for each in whole]
            assert q.others == tuple(each.answer for each in whole)
            assert q.distractor_words == sum(len(each.text.split()) for each in whole)
            assert set(" ".join(lines[q.distractors :]).split()) <= {*FILLER}
            assert tokens or q.distractors == level
    if not tokens:
        assert all(later <= 2 * max(level, 0.5) for level, later in pairwise(cells))
        room = cells[0][0].words - cells[0][0].problem if cells else 0
        most = max(cells, default=0)
        needed = [sum(len(plan.other(i, j).text.split()) + 1 for j in range(most + 1)) for i in range(2)]
        assert max(needed) > room - 9
        if most:
            with pytest.raises(LengthwiseError, match=f"at most {most} fit"):
                sweep_questions(replace(plan, distractors=(0, most + 1)), "bare")


@pytest.mark.parametrize("option", ["--trained 16-3", "--trained 3,16", "--distractors 1,2", "--distractors 0,2,1"])
def test_wrong_ranges_are_refused_in_a_line(option: str, capsys: pytest.CaptureFixture[str]):
    assert main(["audit", "m", "--lengths", "2,30", "--show-prompt", *option.split()]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert option.split()[0].strip("-") in shown


def test_a_template_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"head": "{instruction} {0} %s", "problem": "Q: ", "answer": "A:"}))
    words = ["audit", "m", "--show-prompt", "--lengths", "2,3", "--forms", f"lines,{file}", "--shots", "1"]
    assert main([*words, "--digits", "natural"]) == 0
    shown = capsys.readouterr().out
    assert "Add the two numbers. {0} %s\n\nQ: " in shown
    assert "what the task is, not sent in this form: Add the two numbers." in shown.split("form mine")[0]
    assert "what the task is, part of the prompt" in shown.split("form mine")[1]
    assert "Input: " in shown
    for empty in ("head", "problem", "answer"):
        file.write_text(json.dumps({empty: "", "separator": ""}))
        assert main([*words, "--digits", "natural"]) == 0
        shown = capsys.readouterr().out.split("form mine")[1].strip()
        found = re.search(r"^(\d+)\+(\d+)=(\d+)\n\n\d+\+\d+=\d+$", shown, re.M)
        assert found
        assert int(found[1]) + int(found[2]) == int(found[3]), "the example is a line"
    for wrong in ("{}", "[]", '{"answer": 7}', '{"separator": "\\n"}', '{"answer": "A", "other": ""}', "nonsense"):
        file.write_text(wrong)
        assert main(words) == 2
        assert capsys.readouterr().err.count("\n") == 1
