"""Every command says that it is at work, after five seconds without a word and then again; and Ctrl-C ends it."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from lengthwise.api import explore, progress
from lengthwise.cli import main as command_line
from lengthwise.core.deadline import DOING


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST_WORD", 0.05)
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.1)


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def test_silence_is_broken_again_and_again(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    before, caught = sys.stderr, []

    def lines() -> int:
        caught.append(capsys.readouterr().err)
        return "".join(caught).count("work: at work for ")

    with progress.signs_of_life("work"):
        until(lambda: lines() >= 3)
    assert sys.stderr is before
    time.sleep(0.2)
    assert not capsys.readouterr().err, "nothing is said after the end"


def test_what_is_done_is_said_where_it_is_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(DOING, "now", "failures, length 9")
    caught = list[str]()
    with progress.signs_of_life("work"):
        until(lambda: " s: failures, length 9\n" in (caught.append(capsys.readouterr().err) or caught[-1]))


def test_who_says_something_is_not_interrupted(capsys: pytest.CaptureFixture[str]) -> None:
    progress_line = "step 3\n"
    with progress.signs_of_life("work"):
        for _ in range(20):
            sys.stderr.write(progress_line)
            time.sleep(0.001)
    assert set(capsys.readouterr().err.splitlines()) <= {"step 3", "work: at work for 0 s"}


def test_a_page_that_is_served_is_no_work(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    served = SimpleNamespace(server_port=1, serve_forever=lambda: time.sleep(0.4), server_close=lambda: None)
    monkeypatch.setattr(explore, "serve", lambda *_: served)
    with progress.signs_of_life("work"):
        explore.explore("copy", browser=False, note=lambda address: print(address, capsys.readouterr().err))
        assert "at work" not in capsys.readouterr().err


@pytest.mark.parametrize("command", [*command_line.COMMANDS, *command_line.GROUPS])
def test_every_command_of_a_process(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever a command does, `main` watches it, and Ctrl-C ends it with one line."""

    def endless(*, args: list[str], **_: object) -> None:
        assert args == [command]
        while "at work for" not in (said := capsys.readouterr().err):
            assert not said
            time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(command_line, "every_command", lambda: endless)
    monkeypatch.setattr(sys, "argv", ["lengthwise", command])
    assert command_line.main() == command_line.INTERRUPTED
    assert capsys.readouterr().err.splitlines()[-1].startswith("interrupted")
