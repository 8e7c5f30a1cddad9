"""An audit tells apart what breaks a model, counts what is no answer apart, and asks nothing twice."""

from __future__ import annotations

import json
import re
import shlex
import time
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from stub_server import Fault, completion, planted, send, serve

from lengthwise.audit.endpoint import Endpoint
from lengthwise.audit.model import (
    APART,
    FAILED,
    REFUSED,
    TIMED_OUT,
    TOO_LONG,
    TRUNCATED,
    Asker,
    ModelFacts,
    Reply,
    RequestFailed,
)
from lengthwise.audit.questions import AuditPlan, natural_questions, sweep_questions
from lengthwise.audit.run import ANSWERS as FILE
from lengthwise.audit.run import run_audit
from lengthwise.audit.scoring import UNSTOPPED, outcome
from lengthwise.cli.main import main
from lengthwise.core.config import digest
from lengthwise.core.errors import LengthwiseError
from lengthwise.report.pages import audit_page
from lengthwise.tasks import TASKS

TASK = TASKS.build("addition")
PLAN = AuditPlan(TASK, (3, 6, 12), samples=12, shots=2, forms=("lines", "instruction"))
SMALL = AuditPlan(TASK, (2, 4), samples=3, shots=1, forms=("lines",))


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch):
    """The package's waits between tries, a thousandth as long."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.0005)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.008)


def audited(url: str, folder: Path, plan: AuditPlan = PLAN, **settings: Any) -> dict[str, Any]:
    settings = {"retries": 2, "timeout": 5.0, **settings}
    return run_audit(Endpoint(url, "stub", **settings), plan, folder)


def totals(result: dict[str, Any]) -> dict[str, int]:
    return {name: sum(cell["counts"][name] for cell in result["cells"]) for name in result["cells"][0]["counts"]}


def test_a_model_that_solves_everything_and_one_that_solves_nothing(tmp_path: Path):
    with serve(planted(TASK, lambda *words: False)) as stub:
        result = audited(stub.url, tmp_path / "right", AuditPlan(TASK, (3, 12), samples=30, shots=2, forms=("lines",)))
        assert totals(result)["wrong"] == 0
        assert result["causes"]["excluded"] == ["length", "distance", "number", "distractors"]
        assert "; nothing that was varied breaks it." in result["causes"]["says"]
    with serve(lambda prompt: "nonsense") as stub:
        result = audited(stub.url, tmp_path / "wrong")
    assert totals(result)["right"] == 0
    assert result["causes"]["breaks"] == []
    says = result["causes"]["finding"]
    assert says[0] == "Never right, even at the shortest length: nothing can be said about length."
    assert "not learned the task" in says[1]
    assert "50%" in result["causes"]["why"][0]
    assert "shorter length" in result["causes"]["why"][0]
    assert not result["causes"]["learned"]
    page = audit_page(result)
    assert "no drop" not in page
    assert " to +" not in page, "counts and no diagnosis"


def test_length_distance_and_number_vary_one_at_a_time():
    for name in ("addition", "copy", "parity", "sort"):
        plan = AuditPlan(TASKS.build(name), (3, 6, 12), samples=5)
        by_sweep: dict[str, list[Any]] = {}
        for question in sweep_questions(plan, "lines"):
            by_sweep.setdefault(question.sweep, []).append(question)
        constant = {"length": ("number", "distance"), "distance": ("number", "words"), "number": ("words", "distance"),
                    "distractors": ("words", "distance", "number")}  # fmt: skip
        for sweep, fields in constant.items():
            for field in fields:
                assert len({getattr(question, field) for question in by_sweep[sweep]}) == 1, (name, sweep, field)
            varied = {"length": "words"}.get(sweep, sweep)
            # Of distractors there are as many numbers as fit.
            assert len({getattr(question, varied) for question in by_sweep[sweep]}) >= 3 - (sweep == "distractors")


@pytest.mark.parametrize("name", sorted(set(TASKS) - {"language"}))
def test_questions_of_every_task_say_what_they_hold(name: str):
    task = TASKS.build(name)
    low, high = task.lengths(2, 12)[0], task.lengths(2, 12)[-1]
    plan = AuditPlan(task, (low, high), samples=2, shots=1)
    for question in (*natural_questions(plan), *sweep_questions(plan, "lines")):
        assert question.prompt.split("\n")[-1] in ("Output:", "Answer:", "->")
        assert question.expected
        if question.form == "lines":
            last = question.prompt.split("\n\n")[-1].removesuffix("Output:").replace("Input: ", "")
            assert len(last.split()) == question.words
        assert question.number <= question.words
        assert question.distance <= question.words


def always(status: int, value: Any, headers: dict[str, str] | None = None) -> Fault:
    def fault(handler: Any, prompt: str, before: int) -> bool:
        send(handler, status, value, headers)
        return True

    return fault


def cut(handler: Any, prompt: str, before: int) -> bool:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True
    return True


def hanging(handler: Any, prompt: str, before: int) -> bool:
    time.sleep(1.0)
    return True


def endless(handler: Any, prompt: str, before: int) -> bool:
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b" " * 65536)
    except OSError:
        return True


def unstopped(handler: Any, prompt: str, before: int) -> bool:
    send(handler, 200, completion("7 " * 60, prompt, finish="length"))
    return True


def silent_about_it(handler: Any, prompt: str, before: int) -> bool:
    """The budget ended the text, and the server says that the model stopped."""
    reply = completion("7 " * 200, prompt, finish="stop")
    reply["usage"]["completion_tokens"] = 400
    send(handler, 200, reply)
    return True


def filtered(handler: Any, prompt: str, before: int) -> bool:
    send(handler, 200, completion("", prompt, finish="content_filter"))
    return True


def refusing(handler: Any, prompt: str, before: int) -> bool:
    reply = completion("", prompt)
    reply["choices"][0]["message"] |= {"content": None, "refusal": "I can't add."}
    send(handler, 200, reply)
    return True


def unzippable(handler: Any, prompt: str, before: int) -> bool:
    send(handler, 200, "no gzip", {"Content-Encoding": "gzip"})
    return True


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (always(429, "slow down"), FAILED),
        (always(500, "<html>"), FAILED),
        (always(200, "<html>garbage"), FAILED),
        (always(200, {"choices": []}), FAILED),
        (always(200, [1, 2]), FAILED),
        (always(200, {"choices": [{"message": {"content": 7}}]}), FAILED),
        (cut, FAILED),
        (endless, FAILED),
        (hanging, TIMED_OUT),
        (unstopped, UNSTOPPED),
        (silent_about_it, UNSTOPPED),
        (filtered, REFUSED),
        (refusing, REFUSED),
        (unzippable, FAILED),
        (always(302, "", {"Location": "http://127.0.0.1:9/"}), REFUSED),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_what_is_no_answer_is_counted_apart(fault: Fault, kind: str, tmp_path: Path):
    with serve(lambda prompt: "", fault) as stub:
        result = audited(stub.url, tmp_path, SMALL, timeout=0.3 if kind == TIMED_OUT else 5.0, retries=1)
    found = totals(result)
    assert found.pop(kind) == sum(cell["asked"] for cell in result["cells"])
    assert set(found.values()) == {0}
    assert all(cell["rate"] is None for cell in result["cells"])
    assert kind in APART
    # Nothing is said about a model that was not heard; one that did not stop was.
    assert result["causes"]["says"].startswith("No answer at the shortest length counts")
    heard = kind in (UNSTOPPED, TRUNCATED)
    assert bool(result["no_response"]) != heard
    assert heard or f"({result['requests']} {kind})" in result["no_response"]


def test_failures_that_pass_are_tried_again(tmp_path: Path):
    faults = [always(429, "", {"Retry-After": "0.01"}), always(500, ""), cut, always(200, "garbage")]

    def fault(handler: Any, prompt: str, before: int) -> bool:
        return faults[before](handler, prompt, before) if before < len(faults) else False

    with serve(planted(TASK, lambda *words: False), fault) as stub:
        result = audited(stub.url, tmp_path, SMALL, retries=4)
    assert totals(result)["right"] == sum(cell["asked"] for cell in result["cells"])
    assert len(stub.asked) == result["requests"]
    assert set(stub.asked.values()) == {5}
    assert result["retries"] == 4 * len(stub.asked)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_model_ends_the_audit_in_one_line(status: int, tmp_path: Path):
    with serve(lambda prompt: "", always(status, "no")) as stub, pytest.raises(LengthwiseError) as error:
        audited(stub.url, tmp_path, SMALL)
    assert f"answers {status}" in str(error.value)
    assert "try http" not in str(error.value), "the URL ends in /v1"
    if status == 404:
        with (
            serve(lambda prompt: "", always(404, "no")) as stub,
            pytest.raises(LengthwiseError, match=r"try http.*/v1"),
        ):
            audited(stub.url.removesuffix("/v1"), tmp_path, SMALL)
    assert "\n" not in str(error.value)


def test_truncated_prompts_are_noticed(tmp_path: Path):
    def fault(handler: Any, prompt: str, before: int) -> bool:
        send(handler, 200, completion("0", prompt, tokens=min(len(prompt) // 2, 60)))
        return True

    with serve(lambda prompt: "", fault) as stub:
        result = audited(stub.url, tmp_path, AuditPlan(TASK, (3, 40), samples=6, shots=1, forms=("lines",)))
    longest = [cell for cell in result["cells"] if cell["level"] == 40 and cell["sweep"] == "problem"]
    assert longest[0]["counts"][TRUNCATED] == 6
    assert totals(result)["wrong"] > 0


@pytest.mark.parametrize(
    "usage",
    [None, [], "many", {"prompt_tokens": -5, "completion_tokens": -1}, {"prompt_tokens": True},
     {"prompt_tokens": 10**30}, {"prompt_tokens": 0, "completion_tokens": "7"},
     {"prompt_tokens": 3.5, "completion_tokens": None}],
)  # fmt: skip
def test_counts_of_tokens_that_can_t_be_true_are_not_believed(usage: Any, tmp_path: Path):
    solved = planted(TASK, lambda *words: False)

    def fault(handler: Any, prompt: str, before: int) -> bool:
        send(handler, 200, {**completion(solved(prompt), prompt), "usage": usage})
        return True

    with serve(lambda prompt: "", fault) as stub:
        result = audited(stub.url, tmp_path, SMALL)
    assert totals(result)["right"] == sum(cell["asked"] for cell in result["cells"])
    assert result["prompt_tokens"] == result["completion_tokens"] == 0


def test_records_that_were_changed_are_asked_again(tmp_path: Path):
    with serve(planted(TASK, lambda *words: False)) as stub:
        result = audited(stub.url, tmp_path, SMALL)
        lines = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]
        lines[0]["finish"], lines[1]["prompt_tokens"], lines[2]["failed"] = None, "seven", ["right"]
        for line in lines[:3]:  # a sound digest, so that the values are looked at
            line["digest"] = digest({key: value for key, value in line.items() if key != "digest"})
        broken = [json.dumps(line) for line in lines[:3]] + ["[1]", '"x"', "[" * 5000]
        (tmp_path / FILE).write_text("\n".join([*broken, *map(json.dumps, lines[3:])]) + "\n")
        again = audited(stub.url, tmp_path, SMALL)
    assert "from an earlier call" in again["warnings"][-1]
    assert "from an earlier call" in again["overview"]["warnings"][-1]
    assert {**again, "warnings": result["warnings"], "overview": result["overview"]} == result
    assert sorted(stub.asked.values())[-4:] == [1, 2, 2, 2]


def test_prompts_beyond_the_context_are_not_sent(tmp_path: Path):
    class Counting(Asker):
        facts = ModelFacts("counting", "nowhere", context=120)

        @property
        def identity(self) -> dict[str, Any]:
            return {"model": "counting"}

        def ask(self, prompt: str, budget: int) -> Reply:
            assert len(prompt.split()) + budget <= 120
            return Reply("0")

        def tokens(self, prompt: str) -> int:
            return len(prompt.split())

    result = run_audit(Counting(), AuditPlan(TASK, (3, 20), samples=3, shots=1, forms=("lines",)), tmp_path)
    found = totals(result)
    assert found[TOO_LONG] > 0
    assert found["wrong"] > 0


class Stopping(Asker):
    """Is interrupted after some questions."""

    facts = ModelFacts("stopping", "nowhere")

    @property
    def identity(self) -> dict[str, Any]:
        return {"model": "stopping"}

    def __init__(self, after: int) -> None:
        self.left, self.prompts = after, []

    def ask(self, prompt: str, budget: int) -> Reply:
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        self.prompts.append(prompt)
        return Reply("1 2 3")


def test_an_audit_that_was_stopped_goes_on_and_asks_nothing_twice(tmp_path: Path):
    first, second = Stopping(5), Stopping(10**6)
    with pytest.raises(KeyboardInterrupt):
        run_audit(first, SMALL, tmp_path)
    with (tmp_path / FILE).open("a") as file:
        file.write('{"key": "cut sho')  # as a process leaves it that is killed while it writes
    result = run_audit(second, SMALL, tmp_path)
    together = first.prompts + second.prompts
    assert len(first.prompts) == 5
    assert len(together) == len(set(together)) == result["requests"]
    third = Stopping(0)
    again = run_audit(third, SMALL, tmp_path)
    assert again == result
    assert len(
        {json.loads(line)["key"] for line in (tmp_path / FILE).read_text().splitlines() if line[-1] == "}"}
    ) == len(together)


class Refusing(Stopping):
    """Refuses as long as it is told to."""

    refuses = True

    def ask(self, prompt: str, budget: int) -> Reply:
        if self.refuses:
            raise RequestFailed(REFUSED, "still loading")
        return super().ask(prompt, budget)


def test_an_audit_without_any_answer_asks_again(tmp_path: Path):
    asker = Refusing(10**6)
    assert "still loading" in run_audit(asker, SMALL, tmp_path)["no_response"]
    asker.refuses = False
    result = run_audit(asker, SMALL, tmp_path)
    assert result["no_response"] == ""
    assert totals(result)[REFUSED] == 0


def test_what_failed_is_asked_again(tmp_path: Path):
    with serve(lambda prompt: "", always(500, "")) as stub:
        audited(stub.url, tmp_path, SMALL, retries=0)
        url = stub.url
    with serve(planted(TASK, lambda *words: False)) as stub:
        endpoint, known = Endpoint(stub.url, "stub"), {"url": url, "model": "stub", "api": "chat"}
        endpoint.__class__ = type("Same", (Endpoint,), {"identity": property(lambda self: known)})
        result = run_audit(endpoint, SMALL, tmp_path)
    assert totals(result)[FAILED] == 0
    assert totals(result)["wrong"] == 0


def test_keys_reach_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with serve(planted(TASK, lambda *words: False)) as stub:
        audited(stub.url, tmp_path, SMALL)
    assert stub.headers[0]["authorization"] == "Bearer sk-very-secret"
    assert not any("very-secret" in path.read_text() for path in tmp_path.iterdir() if path.is_file())
    for url in (
        "http://user:very-secret@localhost/v1", "http://localhost/v1?key=very-secret", "http://localhost/v1#very-secret",
        "localhost:80", "ftp://x", "http://[::1/v1", "http://localhost:99999/v1", "http://localhost:x/v1", "http:///v1",
    ):  # fmt: skip
        with pytest.raises(LengthwiseError) as error:
            Endpoint(url, "stub")
        assert "\n" not in str(error.value)


def test_a_server_that_repeats_the_key_does_not_bring_it_into_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_KEY", " sk-very-secret\n")

    def fault(handler: Any, prompt: str, before: int) -> bool:
        said = f"wrong: {handler.headers['Authorization']}"
        if "error" in prompt or len(stub.asked) % 2 == 0:
            send(handler, 400, {"error": said})
        else:
            send(handler, 200, completion(said, prompt))
        return True

    with serve(lambda prompt: "", fault) as stub:
        result = audited(stub.url, tmp_path, SMALL, key_variable="MY_KEY")
    assert {header["authorization"] for header in stub.headers} == {"Bearer sk-very-secret"}
    assert totals(result)[REFUSED] > 0
    assert totals(result)["wrong"] > 0
    assert not any("very-secret" in path.read_text() for path in tmp_path.iterdir() if path.is_file())
    assert "[key]" in (tmp_path / FILE).read_text()


def test_placeholders_instead_of_keys_leave_answers_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "1")
    with serve(planted(TASK, lambda *words: False)) as stub:
        result = audited(stub.url, tmp_path, SMALL)
    assert totals(result)["right"] == sum(cell["asked"] for cell in result["cells"])


def test_a_key_that_can_t_be_in_a_header_is_named_and_not_shown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_KEY", "sk-very\nsecret")
    for variable in ("MY_KEY", "sk-very-secret"):
        with pytest.raises(LengthwiseError) as error:
            Endpoint("http://localhost:1/v1", "stub", key_variable=variable)
        assert "secret" not in str(error.value)
        assert "\n" not in str(error.value)


def test_an_endless_list_of_models_is_left(tmp_path: Path):
    with serve(planted(TASK, lambda *words: False), models=endless) as stub:
        result = audited(stub.url, tmp_path, SMALL)
    assert result["model"]["context"] is None
    assert totals(result)["right"] > 0


@pytest.mark.parametrize(
    ("text", "finish", "becomes"),
    [
        ("1 2", "stop", "right"), ("Output: 1 2\n\nInput: 3", "length", "right"), ("12.", "stop", "right"),
        ("`1 2`", "stop", "right"), ("1 2 3", "stop", "wrong"), ("", "stop", "wrong"), ("2 1\nmore", "length", "wrong"),
        ("1 2 1 2 1 2", "length", "did not stop"), ("the answer is 1 2", "stop", "right"),
    ],
)  # fmt: skip
def test_answers_are_read_from_the_first_line(text: str, finish: str, becomes: str):
    assert outcome(text, "1 2", finished=finish != "length") == becomes


def test_the_command_writes_a_page_and_what_it_advises_asks_only_what_is_new(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    with serve(planted(TASK, lambda before, problem, between: problem > 15)) as stub:
        words = ["audit", "stub", "--endpoint", stub.url, "--lengths", "3,12", "--samples", "20", "--encoding", "rope"]
        out = ["--yes", "--out", str(tmp_path)]
        assert main([*words, "--forms", "lines", "--shots", "1", *out]) == 0
        printed, page = capsys.readouterr().out, unescape((tmp_path / "audit.html").read_text())
        values = json.loads((tmp_path / "audit.json").read_text())
        command = values["causes"]["command"]
        assert command in printed
        assert command in page
        before = len(stub.asked)
        assert main(shlex.split(command)[1:]) == 0
        assert len(stub.asked) > before
        assert set(stub.asked.values()) == {1}, "nothing is asked twice"
    found = values["causes"]["changes"]["number"]
    low, high = round(100 * found["low"]), round(100 * found["high"])
    says = "; more words that matter alone break it at 24 (0 of 20 right)."
    assert says in " ".join(printed.split())
    assert says in page
    assert f"-100 [{low} to {high}]" in page, "one sign in text, table and JSON"
    assert f"-100 [{low} to {high}]" in printed
    assert "Theory, rope positions (as given, not measured): no guarantee." in printed
    assert 'src="http' not in page
    assert page.index("Add the two numbers") < page.index(says) < page.index("<svg") < page.index("breaks at 24")
    assert page.index("breaks at 24") < page.index("<details"), "the rest is folded"
    assert command.endswith(" --yes"), "there is nobody to ask"
    lines = printed.splitlines()
    assert len(lines) <= 22
    assert all(len(line) <= 80 or line == command for line in lines)


def test_a_page_names_what_repeats_it_and_a_second_call_what_is_from_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    with serve(lambda prompt: "") as stub:
        words = ["audit", "a/folder/stub", "--task", "retrieval", "--endpoint", stub.url, "--yes", "--samples", "2"]
        words += ["--lengths", "3,6", "--shots", "1", "--forms", "lines,arrow", "--seed", "3"]
        out = ["--out", str(tmp_path / "first")]
        assert main([*words, *out]) == 0
        first = capsys.readouterr()
        assert "from before" not in first.err
        assert main([*words, *out]) == 0
        requests = json.loads((tmp_path / "first" / "audit.json").read_text())["requests"]
        assert f"0 questions asked now, {requests} answers from before" in capsys.readouterr().err
        page = (tmp_path / "first" / "audit.html").read_text()
        assert "<h1>Audit of stub on retrieval</h1>" in page
        assert "Write the symbol after the mark !" in page
        assert "the model wrote nothing (stopped at once)" in page
        command = unescape(re.search(r"repeat it</summary>\s*<pre[^>]*>(lengthwise audit.*)</pre>", page)[1])  # type: ignore[index]
        before = sum(stub.asked.values())
        assert main(shlex.split(command)[1:]) == 0
        assert sum(stub.asked.values()) == before, "the same questions of the same model"


def test_a_first_question_that_is_refused_for_good_is_one_line_and_the_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    def late(handler: Any, prompt: str, before: int) -> bool:
        return len(stub.asked) > 3 and always(400, {"error": "too long"})(handler, prompt, before)

    with serve(lambda prompt: "", always(400, {"error": "no such model"})) as stub:
        words = ["audit", "stub", "--endpoint", stub.url, "--yes", "--lengths", "3,12", "--samples", "20"]
        assert main([*words, "--concurrency", "2", "--out", str(tmp_path / "first"), "--json"]) == 2
        assert len(stub.asked) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines()[-1].startswith(
        f"error: {stub.url} refuses the first question to 'stub' (status 400"
    )
    assert "no such model" in printed.err
    with serve(lambda prompt: "", late) as stub:
        result = audited(stub.url, tmp_path / "second", SMALL, concurrency=1)
    assert totals(result)[REFUSED] > 3, "after an answer, a refusal is one of a question"


def test_a_file_in_place_of_the_folder_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "file").write_text("mine")
    with serve(planted(TASK, lambda *words: False)) as stub:
        for out in ("file", "file/below"):
            assert main(["audit", "stub", "--endpoint", stub.url, "--yes", "--out", str(tmp_path / out)]) == 2
            error = capsys.readouterr().err
            assert "is a file; choose a folder" in error
            assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["m", "--lengths", "5"], "two numbers or more"),
        (["m", "--lengths", "5,x"], "--lengths needs whole numbers"),
        (["m", "--lengths", "9,5"], "must increase"),
        (["m", "--forms", "line"], "Did you mean 'lines'?"),
        (["m", "--task", "additon"], "Did you mean 'addition'?"),
        (["m", "--task", "language", "--lengths", "4,6"], "choose another"),
        (["m", "--lengths", "0,5"], "no instances of length 0"),
        (["./nothing/here/m"], "no folder ./nothing/here/m"),
        (["m", "--endpoint", "localhost"], "an endpoint is a URL"),
        (["m", "--endpoint", "http://localhost:1/v1", "--retries", "-1"], "retries must be 0 or more"),
        (["m", "--endpoint", "http://localhost:1/v1", "--timeout", "0"], "timeout must be above 0"),
        (["m", "--endpoint", "http://localhost:1/v1", "--timeout", "nan"], "timeout must be above 0"),
        (["m", "--endpoint", "http://localhost:1/v1", "--concurrency", "0"], "concurrency must be 1 or more"),
        (["m", "--endpoint", "http://localhost:1/v1", "--context", "0"], "context must be 1 token or more"),
        (["m", "--endpoint", "http://localhost:1/v1", "--key-variable", "sk-x"], "--key-variable is the name"),
    ],
)
def test_mistakes_are_one_line(words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["audit", *words, "--yes", "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
