"""`explore`: the answers of its page, and a server that trusts no request. test_explore_browser.py opens the page."""

from __future__ import annotations

import http.client
import json
import os
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import lengthwise as lw
from lengthwise.api.explore import LONGEST_TARGET, TEN, answer, known, page, serve, structure_of
from lengthwise.cli.main import main
from lengthwise.core.errors import LengthwiseError

OWN = """
from lengthwise.core.config import config
from lengthwise.core.vocab import Vocab
from lengthwise.tasks import Task

open({mark!r}, "w").close()
"""
PLACELESS = """
import lengthwise as lw


@lw.config
class First(lw.Task):
    vocab = lw.Vocab.of("ab")

    def write(self, seq, layout, rng):
        seq.bos()
        x = rng.integers(4, 6, size=(layout.length, seq.size))
        given = [seq.given(symbols) for symbols in x]
        seq.sep()
        seq.predicted(x[0], parents=[given[0]])
        seq.eos()

    def answer(self, prompt):
        return [prompt[1], "<eos>"]
"""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server of the page, on a free port."""
    html = page(TEN, {"copy": answer("copy")}, live=True).encode()
    server = serve((), 0, html)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


def get(port: int, path: str, *, method: str = "GET", **headers: str) -> tuple[int, str, dict[str, str]]:
    """The status, the text and the headers of a reply."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    reply = connection.getresponse()
    found = reply.status, reply.read().decode(), dict(reply.getheaders())
    connection.close()
    return found


def asked(port: int, **values: object) -> tuple[int, dict[str, Any]]:
    """The status and the JSON of an answer."""
    status, text, _ = get(port, f"/answer?{urlencode(values)}")
    return status, json.loads(text)


# What an answer holds.


@pytest.mark.parametrize("target", ["addition", "parity", "induction", "regex:(aa)*", "Tomita-4", "Dyck-1"])
def test_an_answer_agrees_with_the_functions_that_it_names(target: str) -> None:
    found = answer(target, 30, 90)
    json.dumps(found, allow_nan=False)
    forecast = lw.predict(target, 30, 90)
    assert [system["system"] for system in found["systems"]] == [system.system for system in forecast]
    for system in found["systems"]:
        one = forecast[system["system"]]
        assert (system["word"], system["chance"], system["p"]) == (one.answer, one.chance, one.probability)
        assert [reason["line"] for reason in system["reasons"]] == list(one.reasons)
        assert [each["command"] for each in system["instead"]] == [each.command for each in one.instead]
    assert found["best"] == found["systems"][0]
    assert all(command.startswith("lengthwise ") for command in found["shell"])
    compile("\n".join(found["python"]), target, "exec")


@pytest.mark.parametrize("target", TEN)
def test_an_answer_takes_less_than_a_second(target: str) -> None:
    """Of one core, the first time; afterwards it is kept."""
    started = time.thread_time()
    answer(target, 25, 75)
    assert time.thread_time() - started < 1


@pytest.mark.parametrize("target", ["addition", "(ab)*", "Tomita-4", "bin-majority-interleave"])
def test_its_commands_and_its_python_run(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(target, 20, 60)
    for line in found["shell"]:
        if line.split()[1] in ("predict", "show"):
            assert main(shlex.split(line)[1:]) == 0, capsys.readouterr().err
    exec("\n".join(found["python"]), {})


@pytest.mark.parametrize("target", ["addition", "copy", "variable-assignment", "minesweeper", "regex:(ab)*"])
def test_examples_are_those_of_show(target: str) -> None:
    """Tokens and dependencies are the same; ids are those of the schemes, coupled ones as at test."""
    found = answer(target)
    for one in found["examples"]:
        tokens = lw.show(target, one["length"], "sequential").example.tokens
        assert one["tokens"] == [token.text for token in tokens]
        assert one["scored"] == [token.position for token in tokens if token.scored]
        assert one["parents"] == {t.position: t.parents for t in tokens if t.scored and t.parents}
        assert one["ids"]["plain"] == [(position,) for position in range(len(tokens))]
        assert one["ids"]["modulo"] == [(position % found["period"],) for position in range(len(tokens))]
        assert one["ids"]["coupled"] == [token.places for token in tokens]


def test_what_becomes_of_ids_as_lengths_grow() -> None:
    """Known cases: sums are local under coupled ids alone, and the parity of a position decides on words of (aa)*."""
    words = {target: {name: fate["word"] for name, fate in answer(target)["schemes"].items()} for target in
             ("addition", "copy", "sort", "parity", "regex:(aa)*", "regex:(abc)*", "Tomita-4")}  # fmt: skip
    for local in ("addition", "copy"):
        assert words[local] == {"plain": "bad", "coupled": "good", "modulo": "bad"}
    for wide in ("sort", "parity"):
        assert set(words[wide].values()) == {"bad"}
    assert words["regex:(aa)*"]["modulo"] == words["regex:(abc)*"]["modulo"] == "good"
    assert answer("regex:(abc)*")["period"] == 3
    assert words["Tomita-4"]["modulo"] == "open"


def test_a_task_without_places_is_not_said_to_be_local(tmp_path: Path) -> None:
    """All of its coupled ids are 0, so that every distance is 0, too."""
    (tmp_path / "own.py").write_text(PLACELESS, encoding="utf-8")
    found = structure_of(lw.task(f"{tmp_path / 'own.py'}:First"))
    assert found["schemes"]["coupled"]["word"] == "open"
    assert "states no places" in found["schemes"]["coupled"]["says"]


def test_curves_are_the_measured_cells_of_this_target() -> None:
    cells = [cell for cell in lw.measured.cells() if cell.task["name"] == "addition"]
    found = answer("addition")["curves"]
    assert sorted((curve["study"], curve["label"], curve["train"]) for curve in found) == sorted(
        (cell.study, cell.system, cell.train) for cell in cells
    )
    for curve in found:
        same = [c for c in cells if (c.study, c.system, c.train) == (curve["study"], curve["label"], curve["train"])]
        for at, value, low, high in curve["points"]:
            assert value in [cell.accuracy(low, high) for cell in same]
            assert at == (low + high) / 2 / curve["train"]
    # The same language written otherwise, and a counter language, which has the name of all languages as a task.
    assert answer("regex:(aa)*")["curves"] == answer("regex:(aaaa|aa)*")["curves"] != []
    assert answer("Dyck-1")["curves"] == []


# The server.


def test_the_page_and_an_answer(port: int) -> None:
    status, html, headers = get(port, "/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert headers["X-Frame-Options"] == "DENY"
    policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert policy[0].startswith("default-src 'none'")
    assert "connect-src 'self'" in policy[0]
    status, found = asked(port, target="regex:(ab)*", train=20, test=60)
    assert status == 200
    assert found == json.loads(json.dumps(answer("regex:(ab)*", 20, 60)))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"target": "additon"}, "Did you mean 'addition'?"),
        ({"target": "(a|b"}, "never closed"),
        ({"target": ""}, "write a task or an expression"),
        ({"target": "aab"}, "a word is written regex:aab"),
        ({"target": "addition", "train": 50, "test": 20}, "`test` must be in 50..10000, got 20"),
        ({"target": "addition", "train": 40, "test": 40}, "test must be longer than `train`"),
        ({"target": "addition", "train": 0, "test": 40}, "train must be at least 1"),
        ({"target": "addition", "train": "x"}, "train must be a whole number"),
        ({"target": "addition", "test": "9" * 30}, "test must be a whole number"),
        ({"target": "a*" * LONGEST_TARGET}, f"at most {LONGEST_TARGET} characters"),
        ({"target": "(a|b)*a(a|b){8}"}, "this page takes 128 at most"),
        ({"target": "x" * 3000}, "a request has at most"),
    ],
)
def test_a_bad_request_is_one_clear_line(port: int, values: dict[str, object], says: str) -> None:
    status, found = asked(port, **values)
    assert status == 400
    assert says in found["error"]
    assert "\n" not in found["error"]


def test_no_request_reads_a_file_or_runs_code(port: int, tmp_path: Path) -> None:
    mark, own = tmp_path / "ran", tmp_path / "own.py"
    own.write_text(OWN.format(mark=str(mark)), encoding="utf-8")
    for name in ("own.py:Task", "own.py", "a.json", "a.jsonl", "a.crasp", "own.py:(a|b)*", "own.py:Task*"):
        status, found = asked(port, target=str(tmp_path / name))
        assert (status, "error" in found) == (400, True), name
    # What is not refused by its name is an expression, and never a path.
    assert known(f"{own}:(a|b)*", [f"{own}:(a|b)*"]) == f"{own}:(a|b)*"
    assert known("(a.json)*", []) == "regex:(a.json)*"
    assert not mark.exists()


def test_only_this_machines_own_pages_get_answers(port: int) -> None:
    assert get(port, "/", Host=f"localhost:{port}")[0] == 200
    for name in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", ""):
        assert get(port, "/", Host=name)[0] == 403
    assert get(port, "/answer?target=copy", Sec_Fetch_Site="cross-site")[0] == 403
    assert get(port, "/answer?target=copy", Sec_Fetch_Site="same-origin")[0] == 200
    assert get(port, "/../../etc/passwd")[0] == 404
    assert get(port, "/", method="POST")[0] == 501
    server = serve((), 0, b"")
    assert server.server_address[0] == "127.0.0.1"
    server.server_close()


def test_a_page_that_is_left_and_a_fault_print_no_traceback(
    port: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", port)) as left:
            # Closed at once and with a reset, so that the answer can't be sent.
            left.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            left.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    monkeypatch.setattr("lengthwise.api.theory.predict", lambda *_: 1 / 0)
    status, found = asked(port, target="sort", train=11, test=33)
    assert (status, found["error"]) == (500, "a fault of ours, please report it: ZeroDivisionError: division by zero")
    assert capsys.readouterr().err == ""


def test_a_port_that_is_taken_or_none_is_one_line(port: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "copy", "--no-browser", "--port", str(port)]) == 2
    assert "choose another --port" in capsys.readouterr().err
    assert main(["explore", "copy", "--no-browser", "--port", "70000"]) == 2
    with pytest.raises(LengthwiseError, match=r"unknown target 'coppy'\. Did you mean 'copy'"):
        lw.explore("coppy")


def test_ctrl_c_ends_it_and_own_tasks_of_the_command_line_answer(tmp_path: Path) -> None:
    task = Path(__file__).parents[2] / "examples" / "my_task.py"
    command = [sys.executable, "-m", "lengthwise", "explore", f"{task}:EverySecond", "--no-browser", "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    address = re.match(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
    assert address is not None, process.stderr.read()
    status, found = asked(int(address[1]), target=f"{task}:EverySecond")
    assert (status, found["schemes"]["coupled"]["word"]) == (200, "good")
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    assert "Traceback" not in process.stderr.read()
    process.stdout.close()
    process.stderr.close()


# The static page.


def test_a_static_page_is_one_file_that_needs_no_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "copy", "regex:(ab)*", "--static", str(tmp_path / "site")]) == 0
    assert "site/index.html" in capsys.readouterr().out.replace("\n", "")
    (file,) = (tmp_path / "site").iterdir()
    html = file.read_text(encoding="utf-8")
    assert "connect-src" not in html
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!data:)""", html)
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html)
    data = json.loads(text)
    assert list(data["answers"]) == ["copy", "regex:(ab)*"]
    assert data["answers"]["copy"] == json.loads(json.dumps(answer("copy")))


def test_text_of_a_task_stays_text() -> None:
    """A token that looks like markup ends no element."""
    found = answer("copy") | {"summary": "</script><script>alert(1)</script>"}
    html = page(("<b>",), {"<b>": found}, live=False)
    assert "<script>alert" not in html
    assert 'value="&lt;b&gt;"' in html
