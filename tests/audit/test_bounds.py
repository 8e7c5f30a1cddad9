"""A hostile server costs bounded time and memory, and nothing of it reaches the terminal or a file elsewhere."""

from __future__ import annotations

import resource
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from stub_server import completion, planted, send, serve

from lengthwise.audit.endpoint import Endpoint
from lengthwise.audit.model import FAILED, TIMED_OUT, RequestFailed
from lengthwise.audit.questions import AuditPlan
from lengthwise.audit.run import ANSWERS, Spending, run_audit
from lengthwise.cli.main import main
from lengthwise.core.errors import LengthwiseError
from lengthwise.tasks import TASKS

TASK = TASKS.build("addition")
SMALL = AuditPlan(TASK, (2, 4), samples=3, shots=1, forms=("lines",))
TIMEOUT, MARGIN = 0.2, 5.0
Talk = Callable[[socket.socket], None]


@contextmanager
def listening(talk: Talk) -> Iterator[str]:
    """A server whose every connection gets one request's head and is then given to ``talk``, for 20 s at most."""
    ended = threading.Event()

    def connection(client: socket.socket) -> None:
        with client:
            try:
                client.settimeout(20)
                client.recv(1 << 16)
                end = time.monotonic() + 20
                while not ended.is_set() and time.monotonic() < end:
                    talk(client)
            except OSError:
                pass

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=connection, args=(client,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        ended.set()


def once(text: bytes) -> Talk:
    """Begins with ``text`` and goes on with a character every 0.1 s."""
    begun: set[int] = set()

    def talk(client: socket.socket) -> None:
        if id(client) not in begun:
            begun.add(id(client))
            client.sendall(text)
        time.sleep(0.1)
        client.sendall(b"a")

    return talk


def processing(client: socket.socket) -> None:
    client.sendall(b"HTTP/1.1 102 Processing\r\n\r\n" * 100)


def headers(client: socket.socket) -> None:
    client.sendall(b"HTTP/1.1 100 Continue\r\nX-Long: a\r\n\r\n")
    time.sleep(0.05)


@pytest.mark.parametrize(
    "talk",
    [
        once(b"HTTP/1.1 200 OK\r\nX-Long: "), once(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"), once(b""),
        processing, headers, lambda client: time.sleep(0.1),
    ],
    ids=["dripped headers", "dripped body", "dripped status", "endless 102", "dripped 100", "silence"],
)  # fmt: skip
def test_a_request_ends_at_its_deadline_whatever_the_server_does(talk: Talk):
    with listening(talk) as url:
        begin = time.monotonic()
        endpoint = Endpoint(url, "m", timeout=TIMEOUT, retries=0)
        assert time.monotonic() - begin < TIMEOUT + MARGIN, "the list of models"
        begin = time.monotonic()
        with pytest.raises(RequestFailed) as failure:
            endpoint.ask("1 + 1 =", 4)
        assert time.monotonic() - begin < TIMEOUT + MARGIN
    assert failure.value.kind in (TIMED_OUT, FAILED)


def zstd_bomb() -> bytes:
    """A frame of 48 KB for 1.6 GB: blocks of one repeated byte."""
    block = (1 << 1 | 131072 << 3).to_bytes(3, "little") + b"a"
    return b"\x28\xb5\x2f\xfd\x00\x38" + block * 12000


def gzip_bomb() -> bytes:
    """One stream of about 1 MB for 256 MB."""
    stream = zlib.compressobj(1, wbits=31)
    return b"".join([stream.compress(bytes(1 << 20)) for _ in range(256)]) + stream.flush()


BOMBS = {"zstd": zstd_bomb, "gzip": gzip_bomb, "deflate": lambda: bytes(100), "br": lambda: bytes(100)}


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("coding", sorted(BOMBS))
def test_nothing_is_decompressed(coding: str, status: int):
    asked: list[str] = []
    content = BOMBS[coding]()

    def bomb(handler: Any, prompt: str, before: int) -> bool:
        asked.append(handler.headers["Accept-Encoding"])
        handler.send_response(status)
        handler.send_header("Content-Encoding", coding)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)
        return True

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with serve(lambda prompt: "", bomb, bomb) as stub, pytest.raises(RequestFailed) as failure:
        Endpoint(stub.url, "m", timeout=5, retries=0).ask("1 + 1 =", 4)
    assert f"compressed by {coding}" in failure.value.detail
    assert set(asked) == {"identity"}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "kilobytes"


def test_escape_codes_of_an_error_reach_neither_terminal_nor_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def fault(handler: Any, prompt: str, before: int) -> bool:
        send(handler, 400, "\x1b[31mred\x1b]0;title\x07 \u202eback\x9b1m")
        return True

    with serve(lambda prompt: "", fault) as stub:
        words = ["audit", "m", "--endpoint", stub.url, "--yes", "--lengths", "2,4", "--samples", "2", "--retries", "0"]
        assert main([*words, "--out", str(tmp_path)]) == 2
    printed = capsys.readouterr().err
    assert "red" in printed
    files = [path.read_text() for path in tmp_path.iterdir() if path.suffix in (".json", ".jsonl", ".html")]
    for text in (printed, *files):
        assert not set(text) & set("\x1b\x07\x9b\u202e")
        assert "\\u001b" not in text


def test_answers_are_never_written_through_a_link(tmp_path: Path):
    target = tmp_path / "precious"
    target.write_text("mine\n")
    for link, points_to in (("existing", target), ("dangling", tmp_path / "nowhere")):
        folder = tmp_path / link
        folder.mkdir()
        (folder / ANSWERS).symlink_to(points_to)
        with serve(planted(TASK, lambda *words: False)) as stub, pytest.raises(LengthwiseError, match="is a link"):
            run_audit(Endpoint(stub.url, "m"), SMALL, folder)
    assert target.read_text() == "mine\n"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(("tokens", "requests"), [(900, None), (None, 7), (0, None), (10**6, 0)])
def test_a_budget_is_never_exceeded(tokens: int | None, requests: int | None, tmp_path: Path):
    """Every second request fails once, and a failed one costs as much."""
    solved = planted(TASK, lambda *words: False)
    cost, lock = [0, 0], threading.Lock()

    def fault(handler: Any, prompt: str, before: int) -> bool:
        reply = completion(solved(prompt), prompt)
        with lock:
            cost[0] += reply["usage"]["prompt_tokens"] + reply["usage"]["completion_tokens"]
            cost[1] += 1
        if before == 0 and len(prompt) % 2:
            send(handler, 500, "")
            return True
        send(handler, 200, reply)
        return True

    with serve(solved, fault) as stub:
        endpoint = Endpoint(stub.url, "m", retries=1, timeout=5)
        result = run_audit(endpoint, SMALL, tmp_path, spending=Spending(tokens, requests))
        assert tokens is None or cost[0] <= tokens
        assert requests is None or cost[1] <= requests
        if tokens == 0 or requests == 0:
            assert cost == [0, 0]
            assert "not asked" in result["no_response"]
            return
        assert cost[1] > 1
        assert any("budget was used up" in line for line in result["warnings"])
        whole = run_audit(endpoint, SMALL, tmp_path)
    assert not any("budget" in line for line in whole["warnings"]), "the rest is asked by the next call"


def test_a_price_is_shown_before_anything_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with serve(planted(TASK, lambda *words: False)) as stub:
        words = ["audit", "m", "--endpoint", stub.url, "--lengths", "2,4", "--samples", "3", "--forms", "lines"]
        assert main([*words, "--out", str(tmp_path)]) == 2
        assert not stub.asked
        printed = capsys.readouterr().err
        assert main([*words, "--out", str(tmp_path), "--yes"]) == 0
        assert f"{len(stub.asked)} questions to {stub.url}" in printed
        capsys.readouterr()
        assert main([*words, "--out", str(tmp_path)]) == 0, "what is known costs nothing"


def test_a_server_without_any_connection_is_one_error_and_not_many_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(LengthwiseError, match="no connection to") as error:
        Endpoint(f"http://127.0.0.1:{port}/v1", "m", context=99, retries=0).ask("1 2", 1)
    assert not isinstance(error.value, RequestFailed)
