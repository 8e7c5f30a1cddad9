"""``lengthwise lm train``: what is printed, that it can be given again, and one line for each mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from terminal import Terminal

from lengthwise.influence import lm as lm_config

TINY = {
    "vocabulary": 280,
    "layers": 1,
    "heads": 2,
    "width": 16,
    "steps": 4,
    "batch_tokens": 64,
    "warmup": 2,
    "probe_every": 2,
}


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(lm_config.LM_PRESETS, "quick", TINY)
    # The option writes them for the libraries that are yet to be loaded.
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("RAYON_NUM_THREADS", "1")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    folder = tmp_path / "text"
    folder.mkdir()
    for name in ("a.txt", "b.txt", "c.txt"):
        (folder / name).write_text("".join(f"{name} has line {i}\n" for i in range(60)))
    (folder / "binary").write_bytes(b"\x00\x01")
    return folder


def test_a_model_is_trained_reported_and_found_again(terminal: Terminal, text: Path, tmp_path: Path) -> None:
    words = ("lm", "train", "--text", text, "--context", 16, "--out", tmp_path / "lm", "--threads", 1)
    first = terminal(*words)
    assert first.code == 0, first.err
    for said in ("nats per token", "nats per byte", "unigram", "with 9–16 tokens before"):
        assert said in first.out
    assert "skipped, not UTF-8 text: binary" in first.err
    assert "step 4 of 4: held-out loss" in first.err
    second = terminal(*words, "--json")
    assert second.code == 0
    assert "step" not in second.err
    result = second.json()
    assert result["steps"] == 4
    assert result["held_out"]["context"] == 16
    assert result["machine"]["threads"] == 1


def test_pose_reports_its_target(terminal: Terminal, text: Path, tmp_path: Path) -> None:
    words = (
        "lm",
        "train",
        "--text",
        text,
        "--context",
        8,
        "--scheme",
        "pose",
        "--target",
        16,
        "--out",
        tmp_path / "lm",
    )
    answer = terminal(*words)
    assert answer.code == 0, answer.err
    assert "context 8" in answer.out
    assert "context 16" in answer.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--text", "nowhere"], "no file or folder at nowhere"),
        (["--text", "BINARY"], "binary file"),
        (["--text", "TEXT", "--dataset", "c4"], "not both"),
        (["--preset", "huge"], "unknown preset 'huge'"),
        (["--scheme", "alibi"], "scheme"),
        (["--target", 256], "use pose"),
        (["--context", 1], "at least 2"),
        (["--threads", 0], "--threads must be at least 1"),
        (["--text", "TEXT", "--context", 64, "--out", "TEXT"], "not empty"),
        (["--text", "TEXT", "--context", 64, "--tokenizer", "words"], "tokenizer"),
    ],
)
def test_mistakes_are_one_line(
    terminal: Terminal, text: Path, tmp_path: Path, words: list[object], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    places = {"TEXT": text, "BINARY": text / "binary"}
    answer = terminal("lm", "train", *[places.get(str(word), word) for word in words])
    assert answer.code == 2
    assert said in answer.err
    assert [line for line in answer.err.splitlines() if not line.startswith("skipped")] == [answer.err.splitlines()[-1]]
    assert answer.out == ""


def test_a_text_shorter_than_the_context(terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "short.txt"
    path.write_text("one\ntwo\nthree\n")
    answer = terminal("lm", "train", "--text", path, "--out", tmp_path / "lm")
    assert answer.code == 2
    assert "text is too short: its longest document has" in answer.err


def test_a_trained_model_reads_longer_contexts(terminal: Terminal, text: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lm"
    assert terminal("lm", "train", "--text", text, "--context", 8, "--out", folder, "--threads", 1).code == 0
    words = ("lm", "extend", folder, "--text", text, "--multiple", 2, "--multiple", 4, "--windows", 3, "--threads", 1)
    shown = terminal(*words, "--method", "none", "--method", "yarn")
    assert shown.code == 0, shown.err
    for said in ("first 8 tokens", "tokens 9–16", "tokens 25–32", "yarn"):
        assert said in shown.out
    found = json.loads(terminal(*words, "--fine-tune", 2, "--json").out)
    rows = {(row["method"], row["multiple"]): row for row in found["rows"]}
    assert len(rows) == len(found["rows"]) == 2 * 12
    assert {len(row["by_position"]) for (_, multiple), row in rows.items() if multiple == 4} == {32}
    plain, window, wide = (rows[name, 2] for name in ("none", "window", "pi"))
    assert plain["within"] == pytest.approx(window["within"]) != pytest.approx(wide["within"], abs=1e-6)
    assert plain["beyond"] != pytest.approx(window["beyond"], abs=1e-6)


def test_longer_contexts_without_meaning_are_refused(terminal: Terminal, text: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lm"
    assert terminal("lm", "train", "--text", text, "--context", 8, "--out", folder, "--threads", 1).code == 0
    for words, said in {
        ("--method", "yarm"): "Did you mean 'yarn'?",
        ("--method", "drope"): "unknown way to extend a context 'drope'",
        ("--multiple", "1"): "multiples of the context must be 2 or more, got [1]",
        ("--multiple", "4000"): "give smaller multiples or a longer text",
        ("--windows", "0"): "windows must be at least 1, got 0",
    }.items():
        shown = terminal("lm", "extend", folder, "--text", text, *words)
        assert shown.code == 2
        assert said in shown.err
        assert len(shown.err.strip().splitlines()) <= 2
