"""Laws over every command: what a user calls something reaches neither the terminal raw nor another folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from lengthwise.cli.main import app, main
from lengthwise.experiments.compare import ModelSetting
from tiny_comparison import make_comparisons_tiny

OBEYED = set("\x00\x07\x1b\x7f\x9b\u200e\u202e\u2066")
EVIL = "\x1b]0;title\x07\x1b[31mred\x9b1m\u202eback"


def commands(found: Any = None, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command that does something, subcommands included."""
    found = found or typer.main.get_command(app)
    inner = getattr(found, "commands", None)
    if inner is None:
        yield words
    for name, command in (inner or {}).items():
        yield from commands(command, (*words, name))


EVERY = list(commands())


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints, which has nothing in it that a terminal obeys."""
    main(words)
    text = "".join(capsys.readouterr())
    assert not OBEYED & set(text), repr(text)
    return text


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_no_name_reaches_the_terminal_raw(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in ([EVIL, EVIL], [f"{EVIL}.py:Task"], [f"--{EVIL}"], ["--out", EVIL, "--set", EVIL, EVIL]):
        assert said([*command, *words], capsys)
    assert not list(tmp_path.iterdir())


def test_no_token_reaches_the_terminal_raw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a task calls its tokens and itself is printed in tables, notes and JSON, and stays what it is in JSON."""
    text = TASK.replace('"every second digit of a number"', repr(EVIL))
    text = text.replace("str(digit) for", f"str(digit) + {EVIL!r} for").replace('vocab["0"]', f'vocab["0" + {EVIL!r}]')
    (tmp_path / "task.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert said(["check", "task.py:EverySecond"], capsys)
    for command in ("show", "predict"):
        assert said([command, "task.py:EverySecond"], capsys)
        printed = json.loads(said([command, "task.py:EverySecond", "--json"], capsys))
        assert json.dumps(EVIL)[1:-1] in json.dumps(printed)


TINY = [
    f"--set={edit}" for edit in ("model.width=8", "model.heads=1", "model.layers=1", "training.steps=2",
                                 "training.batch_size=4", "training.max_length=3", "evaluation.samples=2")
]  # fmt: skip
TASK = (Path(__file__).parents[2] / "examples" / "my_task.py").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ["run", "TASK", "--only", "nope", "--seeds", "1", *TINY, "--out", "out"],
        ["compare", "TASK", "--systems", "nope", "--seeds", "1", "--max-length", "3", "--budget", "1h", "--out", "out"],
        ["export", "lm-eval", "TASK", "--out", "out"], ["export", "inspect", "TASK", "--out", "out"],
        ["show", "TASK"], ["plan", "TASK", "--only", "nope", *TINY], ["couple", "TASK", "--budget", "1s"],
        ["check", "TASK"], ["predict", "TASK"], ["list"], ["decide", "(ab)*"], ["crasp", "list"],
        ["crasp", "print", "D-2"], ["crasp", "run", "D-2", "--word", "a"], ["crasp", "check", "D-2"],
    ],
    ids=lambda words: " ".join(words[:2]),
)  # fmt: skip
def test_nothing_is_written_but_what_was_asked_for(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A task in a folder with a name that is also Markdown, YAML, a way up and an option; the result goes to `out`."""
    home, away = tmp_path / "home", tmp_path / "-a #b: .."
    home.mkdir()
    away.mkdir()
    (away / "task.py").write_text(TASK)
    make_comparisons_tiny(monkeypatch, (ModelSetting(1, 1e-2, 0.0),))
    monkeypatch.chdir(home)
    code = main([word.replace("TASK", f"../{away.name}/task.py:EverySecond") for word in words])
    assert code == 0, capsys.readouterr().err
    written = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if "__pycache__" not in path.parts}
    within = {path for path in written if path.parts[:2] == ("home", "out")}
    assert written - within == {Path("home"), Path(away.name), Path(away.name, "task.py")}
    assert bool(within) == ("--out" in words)
    assert all(set(part) <= SAFE for path in within for part in path.parts[1:])


@pytest.mark.parametrize("led", ["nowhere", "file"])
@pytest.mark.parametrize(
    "words",
    [
        ["run", "copy", "--only", "nope", "--seeds", "1", *TINY],
        ["run", "copy", "--only", "nope", "--seeds", "1", *TINY, "--jobs", "2"],
        ["compare", "copy", "--systems", "nope", "--seeds", "1", "--max-length", "3", "--budget", "1h"],
        ["verify", "a*", "--encoding", "nope"], ["demo"], ["export", "lm-eval", "copy"], ["influence"], ["lm", "train"],
        ["predict", "a*", "--encoding", "nope", "--train", "8", "--probe", "1s"], ["explore", "copy", "--static"],
    ],
    ids=lambda words: f"{words[0]}{len(words)}",
)  # fmt: skip
def test_results_go_into_no_file_and_through_no_link_that_leads_nowhere(
    words: list[str], led: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / led)
    assert main([*words, *(["--out"] if words[0] != "explore" else []), str(tmp_path / "link")]) == 2
    assert f"{tmp_path / 'link'} is a {'file' if led == 'file' else 'link'}" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"file", "link"}
    assert (tmp_path / "file").read_text() == "mine"


SAFE = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
"""Letters that mean nothing in a shell, in YAML or on any file system."""


def forked(words: list[str]) -> int:
    """The exit code of a command in a process that has loaded none of the user's code yet."""
    process = os.fork()
    if process == 0:
        os._exit(main(words))
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["run", "task.py:EverySecond", "--only", "nope", "--seeds", "1", *TINY],
        ["compare", "task.py:EverySecond", "--systems=nope", "--seeds=1", "--max-length=3", "--budget=1h"],
        ["export", "lm-eval", "task.py:EverySecond"], ["export", "inspect", "task.py:EverySecond"],
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_an_edit_of_what_a_task_imports_is_seen(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command again: with the same code nothing changes, after the edit it refuses or makes other files."""
    (tmp_path / "task.py").write_text("from helper import BASE\n" + TASK.replace("base: int = 10", "base: int = BASE"))
    (tmp_path / "helper.py").write_text("BASE = 10\n")
    make_comparisons_tiny(monkeypatch, (ModelSetting(1, 1e-2, 0.0),))
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out"

    def made() -> dict[str, bytes]:
        files = "*" if words[0] == "export" else "result.json"  # of which a result that is reused is not written again
        return {str(path): path.read_bytes() for path in sorted(out.rglob(files)) if path.is_file()}

    assert forked([*words, "--out", "out"]) == 0
    first = made()
    assert forked([*words, "--out", "out"]) == 0
    assert made() == first
    (tmp_path / "helper.py").write_text("BASE = 9\n")
    code = forked([*words, "--out", "out"])
    assert (code == 0 and made() != first) or (code == 2 and made() == first)
