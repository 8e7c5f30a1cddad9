"""Lengths in the model's tokens: exact in a folder, by fit with a server, refused where the fit can't tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_served import saved

from lengthwise.audit.model import Asker, LocalModel, ModelFacts, Reply
from lengthwise.audit.questions import AuditPlan, natural_questions, sweep_questions
from lengthwise.audit.run import run_audit
from lengthwise.cli.main import main
from lengthwise.core.errors import LengthwiseError
from lengthwise.tasks import TASKS

TASK = TASKS.build("addition")
PLAN = AuditPlan(TASK, (3, 6, 12), samples=2, shots=1, forms=("lines",), tokens=(400, 900, 2000))


def pieces(text: str) -> int:
    """One token for three letters of a word, and one for each other character."""
    return sum(-(-len(word) // 3) if word.isalpha() else len(word) for word in text.split()) + text.count("\n")


COUNTS: dict[str, Callable[[str], int]] = {
    "characters": len,
    "words": lambda text: len(text.split()),
    "pieces": pieces,
    "template": lambda text: 37 + pieces(text),
}


@pytest.mark.parametrize("count", COUNTS.values(), ids=COUNTS)
def test_prompts_have_as_many_tokens_as_fit(count: Callable[[str], int]):
    longest = max(len(word) for word in ["Output:", "yellow", "documentation"]) + 4
    for question in sweep_questions(replace(PLAN, count=lambda prompt, amounts: count(prompt)), "lines"):
        if (question.sweep, question.level) == ("length", 0):
            continue
        wanted = question.level if question.sweep == "length" else PLAN.tokens[-1]
        assert count(question.prompt) <= wanted
        assert count(question.prompt) > wanted - 2 * longest, (question.sweep, question.level)
    alone = {q.prompt for q in natural_questions(PLAN) if q.level == 3}
    assert {q.prompt for q in sweep_questions(PLAN, "lines") if (q.sweep, q.level) == ("length", 0)} == alone


def test_one_thing_at_a_time_varies():
    by_sweep: dict[str, list[Any]] = {}
    for question in sweep_questions(PLAN, "lines"):
        by_sweep.setdefault(question.sweep, []).append(question)
    constant = {
        "length": ("number", "distance", "distractors", "prose"), "distance": ("number", "distractors", "prose"),
        "number": ("distractors", "prose"), "distractors": ("number", "distance", "prose"),
        "prose": ("number", "distance", "distractors"),
    }  # fmt: skip
    assert list(by_sweep) == list(constant)
    for sweep, names in constant.items():
        for name in names:
            assert len({getattr(question, name) for question in by_sweep[sweep]}) == 1, (sweep, name)
    depths = {q.level: (q.distance - natural_questions(PLAN)[0].distance) / q.words for q in by_sweep["distance"]}
    for depth, behind in depths.items():
        assert behind == pytest.approx(1 - depth / 100, abs=0.03)
    shares = {q.level: q.prose / q.words for q in by_sweep["prose"]}
    assert shares[0] == 0
    assert 0.4 < shares[50] < 0.6 < 0.8 < shares[100]


def test_a_folder_s_own_tokens_are_counted(tmp_path: Path):
    plan = replace(PLAN, lengths=(1, 2), tokens=(200, 400), answer_tokens=4, depths=(100, 0))
    result = run_audit(LocalModel(str(saved(tmp_path / "model"))), plan, tmp_path / "out")
    cells = [cell for cell in result["cells"] if cell["sweep"] != "problem" and cell["words"] > 20]
    for cell in cells:
        wanted = cell["level"] if cell["sweep"] == "length" else 400
        assert wanted - 14 < cell["tokens"] <= wanted
    assert result["tokens"] == [200, 400]


class Server(Asker):
    """Says how many tokens a prompt had, when it answers."""

    by_content = False

    def __init__(self, count: Callable[[str], int | None]) -> None:
        self.facts, self.count, self.asked = ModelFacts("server", "nowhere", 10**6), count, 0

    @property
    def identity(self) -> dict[str, Any]:
        return {"model": "server"}

    def ask(self, prompt: str, budget: int) -> Reply:
        self.asked += 1
        return Reply("0", prompt_tokens=self.count(prompt), completion_tokens=1)


@pytest.mark.parametrize("count", COUNTS.values(), ids=COUNTS)
def test_a_server_s_tokens_are_fitted(count: Callable[[str], int], tmp_path: Path):
    result = run_audit(Server(count), PLAN, tmp_path)
    for cell in result["cells"]:
        if cell["sweep"] != "problem" and cell["words"] > 20:
            wanted = cell["level"] if cell["sweep"] == "length" else PLAN.tokens[-1]
            assert cell["tokens"] == pytest.approx(wanted, rel=0.05), (cell["sweep"], cell["level"])
    assert not any("other tokens" in line for line in result["warnings"])
    again = Server(count)
    assert run_audit(again, PLAN, tmp_path)["cells"] == result["cells"]
    assert again.asked == 0, "what was asked for its tokens is kept, too"


@pytest.mark.parametrize(
    ("count", "says"),
    [
        (lambda prompt: None, "does not count the tokens"),
        (lambda prompt: min(len(prompt), 300), "fit its other counts"),
        (lambda prompt: 17, "fit its other counts"),
        (lambda prompt: 50 + hash(prompt) % 5000, "fit its other counts"),
    ],
    ids=["silent", "cuts", "constant", "random"],
)  # fmt: skip
def test_where_the_fit_can_t_tell_it_is_refused(count: Any, says: str, tmp_path: Path):
    with pytest.raises(LengthwiseError, match=says) as error:
        run_audit(Server(count), PLAN, tmp_path)
    assert "leave out tokens, and give lengths" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_server_that_cuts_the_longest_only_is_reported(tmp_path: Path):
    result = run_audit(Server(lambda prompt: min(pieces(prompt), 1500)), PLAN, tmp_path)
    assert any("1,500 instead of 2,000" in line for line in result["warnings"])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--tokens", "1k"], "--tokens needs two numbers or more"),
        (["--tokens", "4k,1k"], "--tokens must increase"),
        (["--tokens", "1kk,2k"], "--tokens needs whole numbers"),
        (["--depths", "50,0"], "depths and text need tokens"),
        (["--tokens", "1k,2k", "--depths", "120,0"], "depths needs two percentages"),
        (["--tokens", "1k,2k", "--text", "nowhere.txt"], "no file or folder at nowhere.txt"),
        (["--tokens", "20,2k", "--show-prompt"], ""),
    ],
)  # fmt: skip
def test_the_command_s_mistakes_are_one_line(words: list[str], says: str, capsys: pytest.CaptureFixture[str]):
    status = main(["audit", "nowhere", "--lengths", "2,3", *words])
    error = capsys.readouterr().err
    assert says in error.replace("`", "")
    assert (status, error.count("\n")) == ((0, 0) if not says else (2, 1))


def test_prompts_that_are_too_long_without_filler():
    with pytest.raises(LengthwiseError, match="tokens without filler, more than 20; raise tokens"):
        sweep_questions(replace(PLAN, tokens=(20, 50)), "lines")


def test_prose_of_ones_own(tmp_path: Path):
    (tmp_path / "mine.txt").write_text("My hovercraft, alas, is full of 17 eels.\n" * 3)
    plan = replace(PLAN, text=tmp_path / "mine.txt")
    shown = next(q for q in sweep_questions(plan, "lines") if q.sweep == "prose" and q.level == 100).prompt
    assert "My hovercraft, alas, is full of eels. My hovercraft," in shown.replace("\n", " ").replace(" # ", " ")
