"""Input that nobody means: one clear line, no traceback, no option taken for nothing."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from terminal import Terminal

MANY = "1" * 5000
"""More digits than Python turns into a number."""


@pytest.mark.parametrize(
    ("name", "content", "command"),
    [
        ("big.json", f'{{"alphabet": [{MANY}]}}', ["decide"]),
        ("big.json", MANY, ["check-certificates"]),
        ("big.jsonl", f'{{"prompt": {MANY}, "answer": true}}', ["predict"]),
        ("odd.json", '{"alphabet": ["\\ud800"]}', ["decide"]),
        ("result.json", MANY, ["report"]),
    ],
)
def test_files(terminal: Terminal, tmp_path: Path, name: str, content: str, command: list[str]) -> None:
    (tmp_path / name).write_text(content)
    answer = terminal(*command, tmp_path / name)
    assert answer.code == 2
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["decide", "(aa)*", "--max-window", "100000000"], "max_window must be at most 1000"),
        (["decide", "(aa)*|b", "--max-period", "100000000"], "max_period must be at most 1000"),
        (["decide", "a\0.json"], "cannot read"),
        (["decide", "a*", "--alphabet", "a b"], "spaces mean nothing"),
        (["crasp", "learn", "regex:a*b", "--period", "3000000000"], "at most 10000, got 3000000000"),
        (["crasp", "learn", "regex:a*b", "--answer", "x"], "--answer is for tasks"),
        (["show", "addition", "-n", "99999999999999999999"], "at most 200,000 are shown"),
        (["show", "addition", "--set", f"base={MANY}"], "base"),
        (["couple", "addition", "--set", "scheme.max_position=1"], "no scheme is used"),
        (["run", "demo", "--seeds", "0"], "--seeds must be at least 1, got 0"),
        (["run", "demo", "--jobs", "0"], "--jobs must be at least 1, got 0"),
        (["run", "addition", "--set", "evaluation.lengths=[8,8]"], "lengths must differ from one another"),
        (["run", "addition", "--set", 'encoding={"name":"learned","init_std":NaN}'], "init_std must be finite"),
        (["run", "addition", "--set", "model.table_std=Infinity"], "table_std must be finite"),
        (["predict", "examples/my_encoding.py"], "write examples/my_encoding.py:Class"),
    ],
)
def test_arguments(terminal: Terminal, tmp_path: Path, words: list[str], says: str) -> None:
    answer = terminal(*words, *(["--out", tmp_path] if words[0] == "run" else []))
    assert answer.code == 2
    assert says in answer.err
    assert answer.err.count("\n") == 1


def test_text_that_is_no_text(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff*\n"), encoding="utf-8"))
    answer = terminal("decide", "-")
    assert answer.code == 2
    assert "can't be read or written here" in answer.err


def test_a_line_separator_inside_of_an_example(terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    lines = [{"prompt": ["a", "\u2028"], "answer": True}]
    lines += [{"prompt": ["b"] * count, "answer": False} for count in range(1, 20)]
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines))
    assert "the symbol '\\u2028' is not printable" in terminal("predict", path).err


def test_a_product_of_large_numbers(terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "large.crasp"
    path.write_text("alphabet: a b\naccept := " + " * ".join(["9" * 999] * 5) + " * #a >= 1")
    answer = terminal("crasp", "check", path)
    assert answer.code == 2
    assert "a product of more than 1000 digits" in answer.err


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path, terminal: Terminal):
    for mark in ("", "\ufeff"):
        examples, config = tmp_path / "examples.jsonl", tmp_path / "systems.json"
        rows = [f'{{"prompt": "<bos> {a} {b} <sep>", "answer": "{a} {b} <eos>"}}' for a in "abcde" for b in "abcde"]
        examples.write_text(mark + "\n".join(rows), encoding="utf-8")
        config.write_text(
            f'{mark}{{"systems": [{{"experiment": {{"task": {{"name": "copy"}}, '
            '"scheme": {"name": "sequential"}, "encoding": {"name": "nope"}}}]}',
            encoding="utf-8",
        )
        assert terminal("predict", examples).code == 0
        assert terminal("run", "--config", config, "--print-config").code == 0


def test_a_file_that_is_no_result_is_not_called_damaged(tmp_path: Path, terminal: Terminal):
    path = tmp_path / "examples.jsonl"
    path.write_text('{"prompt": "a", "answer": "b"}')
    answer = terminal("report", path)
    assert answer.code == 2
    assert f"{path} is not a result file (.json)" in answer.err


@pytest.mark.parametrize("words", ["show {} --length 4", "check {}", "run {} --print-config"])
def test_an_expression_stands_where_a_task_does(words: str, terminal: Terminal):
    assert terminal(*words.format("regex:(ab)*").split()).code == 0
    answer = terminal(*words.format("regex:(ab").split())
    assert answer.code == 2
    assert "is never closed" in answer.err
