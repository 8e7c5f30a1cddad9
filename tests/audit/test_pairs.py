"""Two models that are asked the same questions: the difference has the right sign and its interval covers the truth."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stub_server import planted, serve

from lengthwise.audit.model import Asker, ModelFacts, Reply
from lengthwise.audit.questions import AuditPlan, Question, natural_questions
from lengthwise.audit.run import run_audit
from lengthwise.audit.scoring import RIGHT, UNSTOPPED, WRONG
from lengthwise.audit.summary import AskedQuestion, difference, paired, paired_says
from lengthwise.cli.main import main
from lengthwise.core.rng import stream
from lengthwise.report.pages import audit_page
from lengthwise.tasks import TASKS

TASK = TASKS.build("copy")
SHORT, LONG = 2, 6
SHARED = {SHORT: 0.80, LONG: 0.30}
"""How often the first model is right."""
LOST, WON = {SHORT: 0.25, LONG: 0.10}, {SHORT: 0.10, LONG: 0.60}
"""How often the second model is wrong where the first is right, and right where it is wrong."""


def right(question: Question, seed: int) -> tuple[bool, bool]:
    """Whether the two tiny models are right on a question."""
    first, change = stream(seed, "pair", question.prompt).random(2)
    one = first < SHARED[question.level]
    return one, change >= LOST[question.level] if one else change < WON[question.level]


class Tiny(Asker):
    """One of two models with known rates."""

    def __init__(self, which: int, seed: int, plan: AuditPlan) -> None:
        self.facts = ModelFacts(("first", "second")[which], "nowhere", context=10**6)
        self.which, self.seed = which, seed
        self.known = {question.prompt: question for question in natural_questions(plan)}

    @property
    def identity(self) -> dict[str, Any]:
        return {"which": self.which, "seed": self.seed}

    def ask(self, prompt: str, budget: int) -> Reply:
        question = self.known.get(prompt)
        return Reply(question.expected if question and right(question, self.seed)[self.which] else "no")


def test_the_interval_covers_in_at_least_90_of_100_seeds():
    covered, signs = {SHORT: 0, LONG: 0}, {SHORT: 0, LONG: 0}
    questions = natural_questions(AuditPlan(TASK, (SHORT, LONG), samples=60, shots=0, forms=("lines",)))
    levels = np.array([question.level for question in questions])
    shared, lost, won = (np.array([rates[level] for level in levels]) for rates in (SHARED, LOST, WON))
    for seed in range(100):
        first, change = stream(seed, "pair").random((2, len(questions)))
        one = first < shared
        both = one, np.where(one, change >= lost, change < won)
        answers = [
            [AskedQuestion(each, RIGHT if right else WRONG) for each, right in zip(questions, model, strict=True)]
            for model in both
        ]
        for row in paired(*answers):
            p = SHARED[row["level"]]
            truth = (1 - p) * WON[row["level"]] - p * LOST[row["level"]]
            covered[row["level"]] += row["low"] <= truth <= row["high"]
            signs[row["level"]] += row["difference"] * truth > 0
    assert min(covered.values()) >= 90, covered
    assert min(signs.values()) >= 90, signs


def test_two_models_in_one_audit(tmp_path: Path):
    plan = AuditPlan(TASK, (SHORT, LONG), samples=80, shots=0, forms=("lines",))
    first, second = Tiny(0, 0, plan), Tiny(1, 0, plan)
    result = run_audit(first, plan, tmp_path, against=second)
    rows = {row["level"]: row for row in result["against"]["pairs"] if row["sweep"] == "problem"}
    found = [right(question, 0) for question in natural_questions(plan)]
    assert rows[LONG]["won"] == sum(not one and two for one, two in found[80:])
    assert rows[SHORT]["lost"] == sum(one and not two for one, two in found[:80])
    says = result["against"]["says"]
    assert says.startswith("second against first: -")
    assert "points" in says.split(" at length 2, right on ")[0]
    assert says.split(";")[1].startswith(" +")
    page = audit_page(result).replace("&#39;", "'")
    assert all(line in page for line in result["overview"]["finding"])
    assert run_audit(Tiny(0, 0, plan), plan, tmp_path, against=Tiny(1, 0, plan)) == result, "nothing is asked again"


def test_nothing_is_said_without_pairs():
    plan = AuditPlan(TASK, (SHORT, LONG), samples=3, shots=0, forms=("lines",))
    questions = natural_questions(plan)
    rows = paired([AskedQuestion(q, RIGHT) for q in questions], [AskedQuestion(q, UNSTOPPED) for q in questions])
    assert all(row["pairs"] == 0 and row["difference"] is None for row in rows)
    assert paired_says(rows, "lines", "B")["says"].count("nothing can be said") == 2
    assert paired_says([], "lines", "B")["says"] == "No question was asked of both models."


def test_two_models_that_never_learned_differ_in_nothing():
    plan = AuditPlan(TASK, (SHORT, LONG), samples=3, shots=0, forms=("lines",))
    wrong = [AskedQuestion(question, WRONG) for question in natural_questions(plan)]
    says = paired_says(paired(wrong, wrong), "lines", "B")["says"]
    assert says.count("neither is ever right at length") == 2
    assert "changes nothing" not in says


@pytest.mark.parametrize(("lost", "won", "p"), [(0, 0, 1.0), (0, 5, 0.0625), (1, 9, 22 / 1024), (4, 4, 1.0)])
def test_mcnemar_is_exact(lost: int, won: int, p: float):
    assert difference(lost, won, 20)["p"] == pytest.approx(p)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with serve(planted(TASK, lambda *words: False)) as good, serve(lambda prompt: "no") as bad:
        words = ["audit", "m", "--task", "copy", "--endpoint", bad.url, "--against", "m", "--yes", "--lengths", "2,4"]
        words += ["--samples", "8", "--forms", "lines", "--out", str(tmp_path)]
        assert main(words) == 2
        assert "the same model" in capsys.readouterr().err
        assert main([*words, "--against-endpoint", good.url]) == 0
        assert good.asked == bad.asked
    assert "m against m: +100 points [" in capsys.readouterr().out


def test_the_study_of_a_trained_pair_prints_its_page_and_has_the_right_signs():
    folder = Path(__file__).parents[2] / "studies" / "audit"
    values = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert runpy.run_path(str(folder / "longer.py"))["page"](values) == (folder / "README.md").read_text("utf-8")
    for row in values["rows"]:
        trained_on = row["level"] <= 16
        if row["method"] == "self-extend":
            assert row["difference"] >= 0
            assert trained_on or row["low"] > 0, "gains beyond what was trained"
        if row["method"] == "pi" and trained_on:
            assert row["high"] < 0, "costs within"
