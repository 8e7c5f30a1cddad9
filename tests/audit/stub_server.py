"""A server in the format of OpenAI's interface whose model, and whose misbehaviour, a test chooses."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from lengthwise.audit.questions import MARK
from lengthwise.tasks import Task

Model = Callable[[str], str]
Fault = Callable[[BaseHTTPRequestHandler, str, int], bool]
"""Answers a request (its prompt, and how often it was asked before) in a way of its own and returns True, or False."""


class Stub:
    """The running server: its URL, and how often each prompt was asked."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: Counter[str] = Counter()
        self.headers: list[dict[str, str]] = []


@contextmanager
def serve(
    model: Model,
    fault: Fault = lambda handler, prompt, before: False,
    models: Fault = lambda handler, prompt, before: False,
) -> Iterator[Stub]:
    """A server in a thread; prompts that ``fault`` leaves alone are answered by ``model``.

    ``models`` may answer a request for the list of models.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if models(self, "", 0):
                return
            send(self, 200, {"data": [{"id": "stub", "max_model_len": 100_000}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = body["messages"][0]["content"] if "messages" in body else body["prompt"]
            with lock:
                before = stub.asked[prompt]
                stub.asked[prompt] += 1
                stub.headers.append({name.lower(): value for name, value in self.headers.items()})
            if not fault(self, prompt, before):
                send(self, 200, completion(model(prompt), prompt))

        def log_message(self, format: str, *args: Any) -> None:
            pass

    lock = threading.Lock()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stub = Stub(f"http://127.0.0.1:{server.server_address[1]}/v1")
    # It looks for the end that often, and each of 200 tests waits for it.
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()


def send(handler: BaseHTTPRequestHandler, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
    """One response; ``value`` is text as it is, or JSON."""
    content = (value if isinstance(value, str) else json.dumps(value)).encode()
    handler.send_response(status)
    for name, text in {"Content-Length": str(len(content)), **(headers or {})}.items():
        handler.send_header(name, text)
    handler.end_headers()
    handler.wfile.write(content)


def completion(text: str, prompt: str, finish: str = "stop", tokens: int | None = None) -> dict[str, Any]:
    """A response of the chat path."""
    usage = {"prompt_tokens": len(prompt) // 2 if tokens is None else tokens, "completion_tokens": len(text.split())}
    return {"choices": [{"message": {"content": text}, "finish_reason": finish}], "usage": usage}


def last_block(prompt: str) -> tuple[list[str], list[str], list[str]]:
    """The words of the filler before the last problem, of the problem, and of the filler behind it."""
    parts: tuple[list[str], list[str], list[str]] = ([], [], [])
    for line in prompt.split("\n\n")[-1].splitlines()[:-1]:
        if line.startswith(MARK):
            parts[2 if parts[1] else 0].extend(line.split())
        else:
            parts[1].extend(line.removeprefix("Input: ").removeprefix("Question: ").split())
    return parts


def planted(task: Task, fails: Callable[[int, int, int], bool]) -> Model:
    """A model that solves ``task`` unless ``fails(filler before, problem, filler between)``, all in words."""

    def model(prompt: str) -> str:
        before, problem, between = last_block(prompt)
        if fails(len(before), len(problem), len(between)):
            return "0"
        tokens = ["<bos>", *("<sep>" if word == "=>" else word for word in problem)]
        return " ".join(word for word in task.solve(tokens) if word != "<eos>")

    return model
