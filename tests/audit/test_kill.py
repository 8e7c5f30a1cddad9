"""An audit that is killed at once goes on: what was answered is not asked again, and nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from stub_server import Stub, planted, serve

from lengthwise.audit.run import ANSWERS as FILE
from lengthwise.cli.main import main
from lengthwise.tasks import TASKS

ANSWERED, CONCURRENCY = 7, 3
SETTINGS = [
    "--task", "copy", "--lengths", "2,4", "--samples", "8", "--shots", "1", "--forms", "lines",
    "--concurrency", str(CONCURRENCY),
]  # fmt: skip


def until(condition: Any, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def lines(folder: Path) -> list[dict[str, Any]]:
    path = folder / FILE
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def command(stub: Stub, folder: Path) -> list[str]:
    return ["audit", "stub", "--endpoint", stub.url, "--yes", *SETTINGS, "--out", str(folder)]


def test_sigkill_in_the_middle_loses_nothing_and_asks_nothing_twice(tmp_path: Path):
    killed, gate = threading.Event(), threading.Semaphore(ANSWERED)

    def fault(handler: Any, prompt: str, before: int) -> bool:
        # The first requests are answered, those in flight at the kill never are.
        if killed.is_set() or gate.acquire(blocking=False):
            return False
        killed.wait(120)
        return True

    with serve(planted(TASKS.build("copy"), lambda *words: False), fault) as stub:
        process = subprocess.Popen([sys.executable, "-m", "lengthwise", *command(stub, tmp_path)])
        until(lambda: len(lines(tmp_path)) == ANSWERED and sum(stub.asked.values()) == ANSWERED + CONCURRENCY)
        process.send_signal(signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL
        killed.set()
        first = lines(tmp_path)
        assert not (tmp_path / "audit.json").exists()
        assert main(command(stub, tmp_path)) == 0
        result = json.loads((tmp_path / "audit.json").read_text())
        counts = sorted(stub.asked.values())
        assert counts == [1] * (len(counts) - CONCURRENCY) + [2] * CONCURRENCY, "only what had no answer is asked again"
        assert lines(tmp_path)[:ANSWERED] == first, "no answer is lost"
        assert len(lines(tmp_path)) == result["requests"] == len(stub.asked)
        assert all(cell["counts"]["right"] == cell["asked"] for cell in result["cells"])
        before = dict(stub.asked)
        assert main(command(stub, tmp_path)) == 0
        assert dict(stub.asked) == before, "a finished audit asks nothing"


def test_two_processes_do_not_work_in_one_folder(tmp_path: Path, capsys: Any):
    import filelock

    with serve(planted(TASKS.build("copy"), lambda *words: False)) as stub:
        with filelock.FileLock(tmp_path / ".lock"):
            assert main(command(stub, tmp_path)) == 2
        assert "another process is at work" in capsys.readouterr().err
        assert not stub.asked
        assert main(command(stub, tmp_path)) == 0
    assert os.path.exists(tmp_path / "audit.html")
