"""Faults of users' files, of streams and of huge values: one clear line, exit code 2, and an end within seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors import SafetensorError
from terminal import TINY_OPTIONS, Answer, Terminal

from fresh_process import ran
from lengthwise.cli.console import err, out

ROOT = Path(__file__).parents[2]

OWN = """
from functools import cached_property
from lengthwise.core.config import config
from lengthwise.core.vocab import Vocab
from lengthwise.tasks import Task

@config
class Mine(Task):
    @cached_property
    def vocab(self):
        return Vocab.of("ab")

    def write(self, seq, layout, rng):
        seq.bos()
        x = [seq.given(4 + rng.integers(2, size=seq.size), place=i + 1) for i in range(layout.length)]
        seq.predicted(4, place=1, parents=[x[0]])
        seq.eos()

    def answer(self, prompt):
        return ["a", "<eos>"]
"""


def one_line(answer: Answer, *says: str) -> None:
    assert (answer.code, answer.out) == (2, ""), answer
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    for part in says:
        assert part in answer.err


def own_task(folder: Path, old: str = "", new: str = "") -> str:
    assert old in OWN
    (folder / "own.py").write_text(OWN.replace(old, new, 1))
    return f"{folder}/own.py:Mine"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("        seq.bos()", "        1 / 0", "own.py, line 14, in Mine.write: ZeroDivisionError: division by zero"),
        ("        seq.bos()", "        raise SystemExit(0)", "own.py, line 14, in Mine.write: SystemExit: 0"),
        ("        seq.bos()", "        raise GeneratorExit", "own.py, line 14, in Mine.write: GeneratorExit"),
        ("@config\n", "", "lacks @config"),
        ("@config\n", "raise BaseException('no')\n", "own.py does not run: BaseException: no (line 7)"),
        ("@config\n", "raise GeneratorExit\n", "own.py does not run: GeneratorExit (line 7)"),
        ("@config\n", "raise SystemExit(0)\n", "own.py does not run: SystemExit: 0 (line 7)"),
        ("predicted(4,", "predicted(99,", "token ids must be in 0..5, got 1..99"),
        ("size=seq.size", "size=7", "column 1 got tokens of shape (7,); give one id, or one for each of the 1"),
    ],
)
def test_own_tasks_that_fail(terminal: Terminal, tmp_path: Path, old: str, new: str, says: str) -> None:
    one_line(terminal("show", own_task(tmp_path, old, new), "-n", 3, "--lengths", 3), says)


def test_an_answer_of_nothing(terminal: Terminal, tmp_path: Path) -> None:
    task = own_task(tmp_path, 'return ["a", "<eos>"]', "return None")
    one_line(terminal("couple", task), "has a mistake")


def test_text_for_an_id(tmp_path: Path) -> None:
    """In a process of its own, because the tests check types at every call."""
    task = own_task(tmp_path, "predicted(4,", "predicted('a',")
    answer = ran(f"import sys; from lengthwise.cli.main import main; sys.exit(main(['show', {task!r}]))")
    assert answer.returncode == 2
    assert answer.stderr.splitlines()[-1] == "error: a column takes token ids, got the text 'a'; write seq.vocab['a']"


def test_the_traceback_is_behind_a_variable(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = own_task(tmp_path, "        seq.bos()", "        1 / 0")
    assert "LENGTHWISE_DEBUG=1 shows the traceback" in terminal("show", task).err
    monkeypatch.setenv("LENGTHWISE_DEBUG", "1")
    shown = terminal("show", task).err
    assert "Traceback (most recent call last)" in shown
    assert shown.splitlines()[-1].startswith("error: ")


def test_paths_are_not_markup(terminal: Terminal, tmp_path: Path) -> None:
    for name in ("x[/red].json", "[red]x[/red].json"):
        path = tmp_path / name
        answer = terminal("decide", "a*", "--certificates", path)
        assert (answer.code, path.exists()) == (0, True)
        assert str(path) in answer.err.replace("\n", "")
    weights = tmp_path / "[bold]w[/bold]"
    assert str(weights) in terminal("crasp", "compile", "D-2", "-o", weights, "--verify", 2).err.replace("\n", "")


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (["report", ROOT / "studies" / "theory" / "results" / "planted-theory", "-o"], "d/x[/red].html"),
        (["run", "addition", "--only", "coupled", "--seeds", "1", *TINY_OPTIONS, "--out"], "[red]x[/red]"),
    ],
    ids=["report", "run"],
)
def test_paths_of_longer_work_are_not_markup(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[object], path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    answer = terminal(*words, path)
    assert answer.code == 0, answer
    assert (tmp_path / path).exists()
    assert path in answer.err.replace("\n", "")


def test_every_console_is_made_in_one_place_and_reads_no_markup() -> None:
    assert [path for path in (ROOT / "src").rglob("*.py") if " Console(" in path.read_text()] == []
    assert (out()._markup, err()._markup) == (False, False)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["show", "addition", "--lengths", "999999999"], "length 999999999 is too large for"),
        (["show", "parity", "-n", "100000"], "length 100000 is too large for"),
        (["couple", "copy", "--from-data", "--examples", "999999999"], "--examples must be in 50..1000000"),
        (["couple", "copy", "--lengths", "999999999"], "--lengths must be at most 10000"),
        (["crasp", "compile", "majority", "--verify", "100000000"], "--verify must be in 0..100000"),
        (["crasp", "compile", "majority", "--precision", "10000000"], "--precision must be in 1..1000 bits"),
        (["crasp", "compile", "majority", "--precision", "0"], "--precision must be in 1..1000 bits, got 0"),
        (["run", "addition", "--set", f"training.batch_size=1{'0' * 30}"], "batch_size must be at most 2e+09"),
        (["run", "addition", "--set", f"scheme.max_position=1{'0' * 21}"], "max_position must be at most 2e+09"),
        (["run", "addition", "--set", f"model.mlp_ratio=1{'0' * 30}"], "mlp_ratio must be at most 2e+09"),
        (["run", "addition", "--set", f"evaluation.samples=1{'0' * 30}"], "samples must be at most 2e+09"),
        (["show", "copy", "--set", "letters=100000000000"], "letters must be at most 1e+06"),
        (["compare", "copy", "--max-length", "1000000000"], "--max-length must be at most 10,000, got 1,000,000,000"),
        (["verify", "(ab)*", "--budget", f"{'9' * 30}h"], "--budget must be at most 1,000h"),
        (["plan", "addition", "--cpus-per-job", "0"], "'--cpus-per-job': Input should be greater"),
        (["export", "lm-eval", "addition", "--lengths", "10"], "--lengths needs two numbers or more"),
        (["crasp", "compile", "majority", "--context", "9" * 12], "choose a smaller context"),
        (["run", "addition", "--set", "evaluation.lengths=[1000000000]"], "lengths must be at most 1000000"),
        (["influence", "--max-length", "-1"], "--max-length must be at least 2, got -1"),
        (["influence", "--rule", "x"], "unknown selection rule 'x'"),
        (["decide", f"{'a|' * 100_000}a"], "it is longer than 20000 characters"),
        (["decide", "q" * 100_000], "unknown target"),
    ],
)
def test_huge_values(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = terminal(*words)
    one_line(answer, says)
    assert len(answer.err) < 2100
    assert not list(tmp_path.iterdir())


def test_a_program_is_compiled_without_random_words(terminal: Terminal) -> None:
    assert terminal("crasp", "compile", "D-2", "--verify", 0).code == 0


def test_memory_and_range_errors_are_one_line(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    for error, says in (
        (MemoryError(), "not enough memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "not enough memory"),
        (OverflowError("int too big to convert"), "a number is too large (int too big to convert)"),
    ):
        module = "lengthwise.prediction.example"
        monkeypatch.setattr(f"{module}.example", lambda *_, error=error: (_ for _ in ()).throw(error))
        one_line(terminal("show", "addition"), says)


def test_an_automaton_of_many_states(terminal: Terminal, tmp_path: Path) -> None:
    names = [str(state) for state in range(60_000)]
    values = {"alphabet": ["a"], "states": names, "start": "0", "accepting": ["0"]}
    moves = {name: {"a": names[index - 1]} for index, name in enumerate(names)}
    (tmp_path / "dfa.json").write_text(json.dumps({**values, "transitions": moves}))
    one_line(terminal("decide", tmp_path / "dfa.json"), "has 60000 states; at most 2000 are read")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path.symlink_to("/dev/zero"), "it is a pipe or device; use a regular file"),
        (os.mkfifo, "it is a pipe or device; use a regular file"),
        (lambda path: path.symlink_to(path.with_name("gone")), "is a link to a file that does not exist"),
        (lambda path: (path.touch(), os.truncate(path, 1 << 29)), "has 536,870,912 bytes; at most"),
    ],
    ids=["device", "pipe", "dangling link", "large"],
)
def test_result_files_that_are_no_files(terminal: Terminal, tmp_path: Path, make, says: str) -> None:
    make(tmp_path / "result.json")
    one_line(terminal("report", tmp_path, "-o", tmp_path / "page.html"), str(tmp_path / "result.json"), says)


def test_weights_on_a_full_disk(terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise SafetensorError("Error while serializing: No space left on device (os error 28)")

    monkeypatch.setattr("lengthwise.models.tensor_files.save_file", full)
    answer = terminal("crasp", "compile", "D-2", "--verify", 2, "-o", tmp_path / "w.safetensors")
    assert answer.code == 2
    assert "No space left on device" in answer.err
    assert not list(tmp_path.iterdir())


def test_no_standard_output() -> None:
    closed = ["/bin/sh", "-c", f'exec "{sys.executable}" -m lengthwise list schemes >&-']
    answer = subprocess.run(closed, capture_output=True, text=True, check=False, timeout=60)
    assert answer.returncode == 2
    assert answer.stderr.splitlines()[-1] == "error: standard output is closed; redirect it to a file"
