"""Every mistake a user can make gives one clear line on stderr and exit code 2, and loses nothing."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from terminal import TINY_OPTIONS, Terminal, files_in, tiny_recipe

from lengthwise.core.config import digest
from lengthwise.core.result_file import sealed
from lengthwise.experiments.run_directory import run_directory

RUN = ["run", "addition", "--only", "coupled", "--seeds", "1", *TINY_OPTIONS]


def fails(terminal: Terminal, *arguments: object, says: str) -> str:
    """The command fails as a user's mistake does; returns its one line."""
    answer = terminal(*arguments)
    assert answer.code == 2, answer
    assert answer.out == ""
    assert "Traceback" not in answer.err
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    assert says in answer.err
    return answer.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["shwo"], "Did you mean 'show'?"),
        (["run", "addition", "--encoding", "nope", "--scheme", "modulo"], "leave the scheme out"),
        (["show"], "Missing argument"),
        (["show", "addition", "--lenght", "5"], "--length"),
        (["show", "addition", "--length", "five"], "valid integer"),
        (["list", "taks"], "unknown kind 'taks'. Did you mean 'tasks'?"),
        (["show", "additon"], "unknown task 'additon'. Did you mean 'addition'?"),
        (["show", "addition", "--scheme", "sequentail"], "unknown scheme 'sequentail'. Did you mean 'sequential'?"),
        (["predict", "(aa)*", "--scheme", "modulo", "--set", "scheme.m=3"], "settings of the task alone are taken"),
        (["show", "addition", "--set", "bse=2"], "unknown setting 'bse'. Did you mean 'base'?"),
        (
            ["show", "addition", "--set", "scheme.drwa=pose"],
            "unknown setting 'scheme.drwa'. Did you mean 'scheme.draw'?",
        ),
        (["show", "addition", "--set", "base"], "--set needs key=value, got 'base'"),
        (["show", "addition", "--set", "base=ten"], "base must be a whole number, got 'ten'"),
        (["show", "addition", "--set", "base=99"], "base must be at most 36, got 99"),
        (["show", "addition", "--set", "scheme=5"], "--scheme"),
        (["show", "addition", "--length", "0"], "has no instances of length 0; use 1"),
        (["show", "addition", "--length", "-3"], "has no instances of length -3"),
        (["show", "copy", "--length", "100000"], "has no instances of length 100000; use"),
        (["show", "addition", "--lengths", "5,,20"], "--lengths needs whole numbers"),
        (["show", "addition", "--lengths", "0"], "has no instances of length 0"),
        (["show", "addition", "--set", "scheme.max_position=4"], "needs 8 position ids, but max_position is 4; raise"),
        (["show", "nowhere/task.py:Mine"], "no file nowhere/task.py"),
        (["run", "additions"], "unknown recipe or task 'additions'. Did you mean 'addition'?"),
        (["run", "addition", "--preset", "quik"], "unknown preset 'quik'. Did you mean 'quick'?"),
        (["run", "addition", "--only", "coupeld"], "unknown system of recipe 'addition' 'coupeld'. Did you mean"),
        (["run", "addition", "--seeds", "0"], "seeds must be at least 1, got 0"),
        (["run", "addition", "--threads", "0"], "--threads must be at least 1, got 0"),
        (
            ["run", "addition", "--set", "training.stpes=5"],
            "unknown setting 'training.stpes'. Did you mean 'training.steps'?",
        ),
        (["run", "addition", "--set", "training.steps=0"], "steps must be at least 1, got 0"),
        (["run", "addition", "--set", "training.lr=fast"], "got 'fast'"),
        (["run", "addition", "--set", "evaluation.lengths=[0]"], "lengths.0 must be at least 1, got 0"),
        (["run", "addition", "--only", "RoPE", "--set", 'encoding={"name":"ropee"}'], "unknown encoding 'ropee'"),
        (["decide", "a*", "--end", "eso"], "unknown end convention 'eso'. Did you mean 'eos'?"),
        (["decide", "a*", "--max-window", "0"], "max_window must be at least 1, got 0"),
        (["decide", "regex:abc", "--alphabet", "ab"], "symbol 'c' is not in the alphabet"),
        (["decide", "nowhere.json"], "no automaton file at nowhere.json"),
        (["crasp", "print", "D-22"], "unknown program 'D-22'. Did you mean"),
        (["crasp", "run", "nowhere.crasp", "--word", "a"], "no program at nowhere.crasp"),
        (["crasp", "run", "D-2", "--word", "abc"], "'c' is not in the program's alphabet"),
        (["crasp", "learn"], "Missing argument"),
        (["crasp", "learn", "addition"], "answers of more than one token"),
        (["report", "nowhere"], "no results at nowhere"),
    ],
)
def test_a_mistake_in_the_arguments(
    terminal: Terminal, arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fails(terminal, *arguments, says=says)
    assert files_in(tmp_path) == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "unknown class in"),
        ("class Mine: pass\n", "is no Task"),
        ("raise RuntimeError('first line\\nsecond line')\n", "does not run: RuntimeError: first line second line"),
        ("def broken(:\n", "does not run: SyntaxError"),
    ],
)
def test_a_task_file_that_is_no_task(terminal: Terminal, text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / f"task_{digest(text)}.py"
    path.write_text(text)
    fails(terminal, "show", f"{path}:Mine", says=says)


def finished_run(out: Path, terminal: Terminal) -> Path:
    """A finished tiny run; returns its folder."""
    assert terminal(*RUN, "--out", out).code == 0
    return run_directory(out, "addition", tiny_recipe().jobs[0].experiment, 0)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def not_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe" + path.read_bytes())


def other_format(path: Path) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))


def without_scores(path: Path) -> None:
    values = json.loads(path.read_text())
    del values["scores"]
    path.write_text(json.dumps(values))


@pytest.mark.parametrize("damage", [truncate, not_text, other_format, without_scores])
def test_a_damaged_result_is_named_and_kept(terminal: Terminal, damage: Callable[[Path], None], tmp_path: Path) -> None:
    folder = finished_run(tmp_path / "runs", terminal)
    damage(folder / "result.json")
    before = files_in(tmp_path)
    assert str(folder / "result.json") in fails(terminal, *RUN, "--out", tmp_path / "runs", says="result file")
    page = tmp_path / "page.html"
    assert str(folder / "result.json") in fails(terminal, "report", tmp_path, "-o", page, says="result file")
    assert files_in(tmp_path) == before


@pytest.mark.parametrize("damage", [truncate, lambda path: path.write_bytes(b"")])
def test_a_damaged_checkpoint_is_named_and_kept(
    terminal: Terminal, damage: Callable[[Path], None], tmp_path: Path
) -> None:
    folder = finished_run(tmp_path / "runs", terminal)
    (folder / "result.json").unlink()
    damage(folder / "checkpoint.safetensors")
    damage(folder / "checkpoint.previous.safetensors")
    before = files_in(tmp_path)
    fails(terminal, *RUN, "--out", tmp_path / "runs", says="is damaged or of another model; delete it and run again")
    assert files_in(tmp_path) == before


def test_a_run_directory_of_another_configuration(terminal: Terminal, tmp_path: Path) -> None:
    folder = run_directory(tmp_path, "addition", tiny_recipe().jobs[0].experiment, 0)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(sealed({"format": 1, "experiment": {}, "seed": 7})))
    before = files_in(tmp_path)
    fails(terminal, *RUN, "--out", tmp_path, says="holds a run of another configuration; choose another folder")
    assert files_in(tmp_path) == before


def test_a_run_directory_with_foreign_files(terminal: Terminal, tmp_path: Path) -> None:
    folder = run_directory(tmp_path, "addition", tiny_recipe().jobs[0].experiment, 0)
    folder.mkdir(parents=True)
    (folder / "thesis.txt").write_text("three years of work")
    before = files_in(tmp_path)
    fails(terminal, *RUN, "--out", tmp_path, says="is not empty and not a run directory")
    assert files_in(tmp_path) == before


def test_an_output_folder_that_is_a_file(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("not a folder")
    fails(terminal, *RUN, "--out", tmp_path / "runs", says="is a file; choose a folder")
    assert (tmp_path / "runs").read_text() == "not a folder"


def test_a_place_that_cannot_be_written(terminal: Terminal, tmp_path: Path) -> None:
    # A file where a folder is needed fails for every user, root included.
    (tmp_path / "file").write_text("")
    fails(terminal, *RUN, "--out", tmp_path / "file" / "runs", says="is a file; choose a folder")
    finished_run(tmp_path / "runs", terminal)
    fails(terminal, "report", tmp_path / "runs", "-o", tmp_path / "file" / "page.html", says="there is no folder")
    fails(terminal, "report", tmp_path / "runs", "-o", tmp_path, says="it is a folder")


def test_a_full_disk_loses_nothing(terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finished_run(tmp_path / "runs", terminal)
    assert terminal("report", tmp_path / "runs", "-o", tmp_path / "page.html").code == 0
    before = files_in(tmp_path)

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    fails(terminal, "report", tmp_path / "runs", "-o", tmp_path / "page.html", says="No space left on device")
    assert files_in(tmp_path) == before
    fails(terminal, *RUN, "--out", tmp_path / "others", says="No space left on device; free space")
    assert files_in(tmp_path / "others") == {}


def test_nothing_to_resume(terminal: Terminal, tmp_path: Path) -> None:
    fails(terminal, *RUN, "--out", tmp_path, "--resume", says="nothing to resume: there is no folder")


def test_too_few_ids_are_known_before_training(terminal: Terminal, tmp_path: Path) -> None:
    says = "needs 43 position ids, but max_position is 20; raise scheme.max_position"
    edits = ["--set", "scheme.max_position=20", "--set", "evaluation.lengths=[40]"]
    fails(terminal, *RUN, *edits, "--out", tmp_path, says=says)
    assert not list(tmp_path.rglob("checkpoint*"))


def test_a_folder_without_results(terminal: Terminal, tmp_path: Path) -> None:
    fails(terminal, "report", tmp_path, "-o", tmp_path / "page.html", says="no result.json in or under")
    assert files_in(tmp_path) == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("not json\n", "line 1: not an example"),
        ('{"prompt": "a b", "answer": "maybe"}\n', "answers that are yes or no"),
        ('{"prompt": "a", "answer": true}\n{"prompt": "a", "answer": false}\n', "the prompt 'a' has two answers"),
        ("\n", "holds no examples"),
    ],
)
def test_examples_that_are_none(terminal: Terminal, text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "examples.jsonl").write_text(text)
    fails(terminal, "crasp", "learn", tmp_path / "examples.jsonl", says=says)


def test_a_program_with_a_mistake_shows_the_place(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "p.crasp").write_text("alphabet: a b\naccept := #a <= ")
    answer = terminal("crasp", "check", tmp_path / "p.crasp")
    assert answer.code == 2
    first, excerpt, caret = answer.err.rstrip("\n").split("\n")
    assert "line 2, column 16" in first
    assert excerpt.strip() == "accept := #a <="
    assert caret.index("^") - caret.index(caret.lstrip()[0]) == 0


def test_control_c_is_one_line(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lengthwise.experiments.engine.sweep", interrupt)
    answer = terminal(*RUN)
    assert (answer.code, answer.out) == (130, "")
    assert answer.err.strip() == "interrupted; give the same command again to go on"
