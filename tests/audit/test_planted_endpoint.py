"""A planted endpoint is diagnosed right, whatever wrapping, interface and limits its server has."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from stub_server import completion, last_block, send, serve

from lengthwise.audit.endpoint import Endpoint
from lengthwise.audit.model import TRUNCATED
from lengthwise.audit.questions import AuditPlan, Question, natural_questions, sweep_questions
from lengthwise.audit.run import run_audit
from lengthwise.audit.scoring import ONLY_THOUGHT, RIGHT
from lengthwise.audit.summary import AskedQuestion, causes, with_truncation
from lengthwise.tasks import TASKS

TASK = TASKS.build("addition")
PLAN = AuditPlan(TASK, (3, 12), samples=18, shots=1, forms=("lines",))


def digits(words: list[str]) -> int:
    return sum(word.isdigit() for word in words)


CAUSES: dict[str, Callable[[list[str], list[str], list[str]], bool]] = {
    "length": lambda before, problem, between: len(before) + len(problem) + len(between) > 15,
    "distance": lambda before, problem, between: len(problem) + len(between) > 20 and len(problem) < 20,
    "number": lambda before, problem, between: len(problem) > 15,
    "distractors": lambda before, problem, between: digits(before) > 4,
    "nothing": lambda before, problem, between: False,
}
WRAPPINGS = {
    "plain": "{}", "think": "<think>\n9 9\n\n9</think>\n\n{}", "empty think": "<think>\n\n</think>\n\n{}",
    "fence": "```\n{}\n```", "sentence": "The answer is **{}**.", "boxed": "\\boxed{{{}}}", "end": "{}<|im_end|>",
}  # fmt: skip


def answer(prompt: str, fails: Any) -> str:
    parts = last_block(prompt)
    if fails(*parts):
        return "0"
    tokens = ["<bos>", *("<sep>" if word == "=>" else word for word in parts[1])]
    return " ".join(word for word in TASK.solve(tokens) if word != "<eos>")


def chunks(reply: dict[str, Any]) -> None:
    message = reply["choices"][0]["message"]
    message["content"] = [{"type": "text", "text": piece} for piece in message["content"]]


def reasoning(reply: dict[str, Any]) -> None:
    reply["choices"][0]["message"]["reasoning_content"] = "7 7 7"


@pytest.mark.parametrize(("cause", "wrapping"), list(product(CAUSES, WRAPPINGS)))
def test_the_cause_is_found(cause: str, wrapping: str, tmp_path: Path):
    """Interfaces go round with the wrappings: new name of the limit, content in chunks, reasoning in a field."""
    turn = list(WRAPPINGS).index(wrapping)
    change = (lambda reply: None, chunks, reasoning)[turn % 3]

    def fault(handler: Any, prompt: str, before: int) -> bool:
        if turn % 2 and before == 0 and not renamed:
            renamed.append(True)
            send(handler, 400, {"error": {"message": "'max_tokens' is not supported, use 'max_completion_tokens'."}})
            return True
        reply = completion(WRAPPINGS[wrapping].format(answer(prompt, CAUSES[cause])), prompt)
        change(reply)
        send(handler, 200, reply)
        return True

    renamed: list[bool] = []
    with serve(lambda prompt: "", fault) as stub:
        result = run_audit(Endpoint(stub.url, "stub", timeout=10, concurrency=1), PLAN, tmp_path)
    found = result["causes"]
    assert found["breaks"] == ([] if cause == "nothing" else [cause])
    assert cause not in found["excluded"]
    assert not sum(cell["counts"][name] for cell in result["cells"] for name in (TRUNCATED, ONLY_THOUGHT))
    if cause in ("distractors", "nothing", "number"):
        assert set(found["excluded"]) == {"length", "distance", "number", "distractors"} - {cause}
    if cause == "length":
        assert "fails where the sweep begins" in found["says"], "distance, number and distractors begin there"


def test_a_server_that_cuts_prompts_short_is_no_fault_of_the_model(tmp_path: Path):
    def fault(handler: Any, prompt: str, before: int) -> bool:
        fails = len(prompt) // 2 > 45
        send(handler, 200, completion("0" if fails else answer(prompt, CAUSES["nothing"]), prompt,
                                      tokens=min(len(prompt) // 2, 45)))  # fmt: skip
        return True

    with serve(lambda prompt: "", fault) as stub:
        result = run_audit(Endpoint(stub.url, "stub", timeout=10), AuditPlan(
            TASK, (3, 30), samples=14, shots=1, forms=("lines",)), tmp_path)  # fmt: skip
    assert result["causes"]["breaks"] == []
    assert "too few answers count" in result["causes"]["says"]
    assert any("cut short" in line for line in result["warnings"])


def test_reasoning_without_an_answer_is_counted_apart(tmp_path: Path):
    def fault(handler: Any, prompt: str, before: int) -> bool:
        reply = completion("", prompt)
        reply["choices"][0]["message"] = {"content": None, "reasoning": "I wonder"}
        send(handler, 200, reply)
        return True

    with serve(lambda prompt: "", fault) as stub:
        result = run_audit(Endpoint(stub.url, "stub", timeout=10), PLAN, tmp_path)
    assert all(cell["counts"][ONLY_THOUGHT] == cell["asked"] == cell["texts"] for cell in result["cells"])
    assert all(cell["rate"] is None and cell["strict_rate"] == 0 for cell in result["cells"])
    assert result["causes"]["says"].startswith("No answer at the shortest length counts")


def tokens_of(text: str) -> int:
    """One token a word of prose, and one each character of anything else, blanks too."""
    return sum(1 if word.isalpha() else 2 * len(word) for word in text.split())


def asked(lengths: tuple[int, ...], forms: tuple[str, ...] = ("lines", "instruction")) -> list[Question]:
    plan = AuditPlan(TASK, lengths, samples=5, shots=2, forms=forms)
    return [*natural_questions(plan), *sweep_questions(plan, forms[0])]


COUNTS: dict[str, Callable[[str], int]] = {
    "mixed": tokens_of,
    "quarter": lambda text: len(text) // 4,
    "bytes": len,
    "words": lambda text: len(text.split()),
    "template": lambda text: 30 + len(text) // 3,
}


@pytest.mark.parametrize("count", COUNTS.values(), ids=COUNTS)
def test_no_tokenizer_looks_like_truncation_and_a_cut_does(count: Callable[[str], int]):
    questions = asked((5, 20, 100))
    whole = [AskedQuestion(each, RIGHT, True, max(count(each.prompt), len(each.prompt.split()))) for each in questions]
    assert with_truncation(whole) == whole
    most = sorted(each.prompt_tokens for each in whole)[len(whole) // 2]
    cut = [AskedQuestion(each.question, RIGHT, True, min(each.prompt_tokens, most)) for each in whole]
    found = with_truncation(cut)
    for before, now in zip(whole, found, strict=True):
        if before.prompt_tokens <= most:
            assert now.outcome == RIGHT
        elif before.prompt_tokens > 2 * most:
            assert now.outcome == TRUNCATED


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ([], "nothing can be said"),
        ([("length", 5, 20, 20), ("length", 60, 0, 0)], "Nothing can be said, since too few answers count: length"),
        ([("length", 5, 20, 20)], "Nothing can be said, since too few answers count: length"),
        ([("distance", 5, 20, 20), ("distance", 60, 20, 20)], "nothing can be said"),
        ([("length", 5, 0, 20), ("length", 60, 0, 20)], "fails at the shortest length already"),
        ([("length", 5, 2, 2), ("length", 60, 2, 2)], "too wide to say"),
    ],
)  # fmt: skip
def test_nothing_is_concluded_from_no_data(cells: list[tuple[str, int, int, int]], says: str):
    rows = [
        {"sweep": sweep, "level": level, "answered": n, "high": 1.0, "counts": {"right": right}}
        for sweep, level, right, n in cells
    ]
    found = causes(rows)
    assert says in found["says"]
    assert found["breaks"] == found["excluded"] == []


def test_what_was_not_varied_is_not_named():
    rows = [
        {"sweep": "length", "level": level, "answered": 90, "high": 1.0, "counts": {"right": 90}} for level in (5, 60)
    ]
    says = causes(rows)["says"]
    assert "length of the text" in says
    assert not any(name in says for name in ("distance", "number", "distractors")), json.dumps(says)
