"""A planted endpoint is diagnosed right, whatever wrapping, interface, reading and limits there are."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from stub_server import completion, last_block, send, serve

from lengthwise.audit.endpoint import Endpoint, reply_of
from lengthwise.audit.model import REFUSED, TRUNCATED, RequestFailed
from lengthwise.audit.questions import FILLER, MARK, AuditPlan, Question, natural_questions, sweep_questions
from lengthwise.audit.run import asked_question, run_audit
from lengthwise.audit.scoring import ONLY_THOUGHT, RIGHT, WRONG, Scoring
from lengthwise.audit.summary import AskedQuestion, causes, cells_of
from lengthwise.audit.tokens import with_truncation
from lengthwise.tasks import TASKS

TASK = TASKS.build("addition")
PLAN = AuditPlan(TASK, (3, 12), samples=16, shots=1, forms=("lines",))
PLANS = {"words": PLAN, "tokens": AuditPlan(TASK, (3, 12), 16, 1, ("lines",), tokens=(400, 1200))}


@cache
def questions(plan: str) -> list[Question]:
    """Every prompt of a plan once, and its sweeps."""
    natural = {question.prompt: question for question in natural_questions(PLANS[plan])}
    return [*natural.values(), *sweep_questions(PLANS[plan], "lines")]


def digits(words: list[str]) -> int:
    return sum(word.isdigit() for word in words)


def prose(words: list[str]) -> int:
    return sum(word.isalpha() and word not in FILLER and word != MARK for word in words)


Fails = Callable[[list[str], list[str], list[str]], bool]
CAUSES: dict[str, dict[str, Fails]] = {
    "words": {
        "length": lambda before, problem, between: len(before) + len(problem) + len(between) > 15,
        "distance": lambda before, problem, between: len(problem) + len(between) > 20 and len(problem) < 20,
        "number": lambda before, problem, between: len(problem) > 15,
        "distractors": lambda before, problem, between: digits(before) > 4,
        "nothing": lambda before, problem, between: False,
    },
    "tokens": {
        "length": lambda before, problem, between: len(before) + len(problem) + len(between) > 450,
        "distance": lambda before, problem, between: len(between) > 300 and len(problem) < 20,
        "number": lambda before, problem, between: len(problem) > 20,
        "distractors": lambda before, problem, between: digits(before) > 20,
        "prose": lambda before, problem, between: prose(before) > 20,
        "nothing": lambda before, problem, between: False,
    },
}
WRAPPINGS = {
    "plain": "{}", "think": "<think>\n9 9\n\n9</think>\n\n{}", "empty think": "<think>\n\n</think>\n\n{}",
    "fence": "```\n{}\n```", "sentence": "The answer is **{}**.", "boxed": "\\boxed{{{}}}", "end": "{}<|im_end|>",
}  # fmt: skip
SCORINGS = (Scoring(), Scoring("last-number"), Scoring("regex", r"\d[\d ]*"))


@cache
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


def completions(reply: dict[str, Any]) -> None:
    reply["choices"][0]["text"] = reply["choices"][0].pop("message")["content"]


INTERFACES: dict[str, Callable[[dict[str, Any]], None]] = {
    "chat": lambda reply: None, "chunks": chunks, "reasoning": reasoning, "completions": completions,
}  # fmt: skip


def records_of(
    plan: str, cause: str, wrapping: str, interface: str, limit: Callable[..., Any] | None = None
) -> list[tuple[Question, dict[str, Any]]]:
    """All questions to a server in this process, with the records of its replies."""
    found = []
    for question in questions(plan):
        reply = completion(WRAPPINGS[wrapping].format(answer(question.prompt, CAUSES[plan][cause])), question.prompt)
        if limit is not None:
            limit(reply, len(question.prompt))
        INTERFACES[interface](reply)
        try:
            record: dict[str, Any] = asdict(reply_of(json.loads(json.dumps(reply)), question.budget, 0))
        except RequestFailed as failure:
            record = {"failed": failure.kind}
        found.append((question, record))
    return found


def asked_of(records: list[tuple[Question, dict[str, Any]]], scoring: Scoring) -> list[AskedQuestion]:
    """What becomes of the questions."""
    return [asked_question(question, record, scoring) for question, record in records]


EVERY = [
    (plan, cause, wrapping, list(INTERFACES)[(i + j) % len(INTERFACES)])
    for plan, found in CAUSES.items()
    for i, cause in enumerate(found)
    for j, wrapping in enumerate(WRAPPINGS)
]
"""Every cause with every wrapping, every interface with either; and below, every scoring with all."""


@pytest.mark.parametrize(("plan", "cause", "wrapping", "interface"), EVERY)
def test_the_cause_is_found(plan: str, cause: str, wrapping: str, interface: str):
    sweeps = {"length", "distance", "number", "distractors"} | ({"prose"} if plan == "tokens" else set())
    records = records_of(plan, cause, wrapping, interface)
    for scoring in SCORINGS:
        cells = cells_of(asked_of(records, scoring))
        found = causes(cells)
        assert found["breaks"] == ([] if cause == "nothing" else [cause])
        assert all(cell["answered"] == cell["asked"] for cell in cells)
        if cause in ("distractors", "nothing", "number", "prose"):
            assert set(found["excluded"]) == sweeps - {cause}
        if cause == "length":
            assert {*found["kinds"].values()} == {"breaks", "failing"}, "the others begin where the length ends"
            assert "nothing can be said of words away" in found["says"]


def cut(reply: dict[str, Any], size: int) -> None:
    """A server with a context of 2,000 characters, which drops the beginning of longer prompts."""
    if size > 2000:
        reply["choices"][0]["message"]["content"] = "0"
        reply["usage"]["prompt_tokens"] = 1000


def refused(reply: dict[str, Any], size: int) -> None:
    if size > 2000:
        reply["choices"][0] = {"message": {"content": None, "refusal": "too long"}, "finish_reason": "stop"}


def unstopped(reply: dict[str, Any], size: int) -> None:
    if size > 2000:
        reply["choices"][0] |= {"message": {"content": "<think>7 7"}, "finish_reason": "length"}


@pytest.mark.parametrize(
    ("wrapping", "limit"), [("plain", cut), ("think", cut), *product(WRAPPINGS, [refused, unstopped])]
)
def test_limits_of_a_server_are_no_fault_of_the_model(wrapping: str, limit: Callable[..., Any]):
    found = asked_of(records_of("tokens", "nothing", wrapping, "chat", limit), Scoring())
    if limit is cut:
        found = with_truncation(found)
    says = causes(cells_of(found))
    assert says["breaks"] == says["excluded"] == []
    assert {*says["kinds"].values()} == {"empty"}
    assert "othing can be said of words of text, words away" in says["says"]
    assert {each.outcome == RIGHT for each in found if len(each.question.prompt) <= 2000} == {True}
    assert {each.outcome == RIGHT for each in found if len(each.question.prompt) > 2000} == {False}


@pytest.mark.parametrize("plan", PLANS)
def test_whole_prompts_are_not_taken_for_cut_ones(plan: str):
    found = asked_of(records_of(plan, "nothing", "plain", "chat"), Scoring())
    assert with_truncation(found) == found


@pytest.mark.parametrize(
    ("plan", "cause", "wrapping", "interface"),
    [
        ("words", "number", "think", "chunks"), ("words", "length", "boxed", "completions"),
        ("words", "distractors", "fence", "reasoning"), ("words", "nothing", "sentence", "chat"),
        ("tokens", "prose", "end", "chunks"),
    ],
)  # fmt: skip
def test_the_cause_is_found_through_a_server(plan: str, cause: str, wrapping: str, interface: str, tmp_path: Path):
    """Over a connection, with the new name of the limit; one request in four fails at first."""

    def fault(handler: Any, prompt: str, before: int) -> bool:
        if before == 0 and len(prompt) % 4 == 0:
            send(handler, 503, {"error": "busy"}, {"Retry-After-Ms": "1"})
            return True
        if interface != "completions" and not renamed:
            renamed.append(True)
            send(handler, 400, {"error": {"message": "'max_tokens' is not supported, use 'max_completion_tokens'."}})
            return True
        text = WRAPPINGS[wrapping].format(answer(prompt, CAUSES[plan][cause]))
        reply = completion(text, prompt, tokens=len(prompt.split()))
        INTERFACES[interface](reply)
        send(handler, 200, reply)
        return True

    renamed: list[bool] = []
    with serve(lambda prompt: "", fault) as stub:
        api = "completion" if interface == "completions" else "chat"
        server = Endpoint(stub.url, "stub", api=api, timeout=10, concurrency=1 if renamed else 4)
        result = run_audit(server, PLANS[plan], tmp_path)
    assert result["causes"]["breaks"] == ([] if cause == "nothing" else [cause])
    assert not sum(cell["counts"][name] for cell in result["cells"] for name in (TRUNCATED, ONLY_THOUGHT, REFUSED))


def test_a_server_that_cuts_prompts_short_is_no_fault_of_the_model(tmp_path: Path):
    def fault(handler: Any, prompt: str, before: int) -> bool:
        fails = len(prompt) // 2 > 45
        send(handler, 200, completion("0" if fails else answer(prompt, CAUSES["words"]["nothing"]), prompt,
                                      tokens=min(len(prompt) // 2, 45)))  # fmt: skip
        return True

    with serve(lambda prompt: "", fault) as stub:
        result = run_audit(Endpoint(stub.url, "stub", timeout=10), AuditPlan(
            TASK, (3, 30), samples=14, shots=1, forms=("lines",)), tmp_path)  # fmt: skip
    assert result["causes"]["breaks"] == []
    assert "empty" in result["causes"]["kinds"].values()
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
        ([("length", 5, 20, 20), ("length", 60, 0, 0)], "Nothing can be said of words of text."),
        ([("length", 5, 20, 20)], "Nothing can be said of words of text."),
        ([("distance", 5, 20, 20), ("distance", 60, 20, 20)], "nothing can be said"),
        ([("length", 5, 0, 20), ("length", 60, 0, 20)], "Never right, even at the shortest length: nothing can be"),
        ([("length", 5, 7, 20), ("length", 60, 0, 20)], "Right on 7 of 20 at the shortest length: nothing can be"),
        ([("length", 5, 2, 2), ("length", 60, 2, 2)], "Nothing can be said of words of text."),
    ],
)  # fmt: skip
def test_nothing_is_concluded_from_no_data(cells: list[tuple[str, int, int, int]], says: str):
    rows = [
        {"sweep": sweep, "level": level, "answered": n, "high": 1.0, "counts": {"right": right}, "guess": 0.0}
        for sweep, level, right, n in cells
    ]
    found = causes(rows)
    assert says in found["says"]
    assert found["breaks"] == found["excluded"] == []


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["parity", "bin_majority", "even-pairs"])
def test_nothing_is_concluded_of_a_model_that_guesses(name: str, seed: int):
    """One answer to all is right on about half, at every length; a model that is right is not taken for it."""
    plan = AuditPlan(TASKS.build(name), (5, 25), samples=20, shots=0, forms=("lines",), seed=seed)
    questions = [*natural_questions(plan), *sweep_questions(plan, "lines")]
    said = questions[0].expected
    found = causes(cells_of([AskedQuestion(each, RIGHT if each.expected == said else WRONG) for each in questions]))
    assert found["breaks"] == found["excluded"] == []
    assert "nothing can be said about length." in found["says"]
    assert set(causes(cells_of([AskedQuestion(each, RIGHT) for each in questions]))["excluded"]) >= {"length"}


def test_what_was_not_varied_is_not_named():
    rows = [
        {"sweep": "length", "level": level, "answered": 90, "high": 1.0, "counts": {"right": 90}, "guess": 0.0}
        for level in (5, 60)
    ]
    found = causes(rows)
    assert found["kinds"] == {"length": "excluded"}
    assert not any(name in found["says"] for name in ("distance", "matter", "distractors")), json.dumps(found)
