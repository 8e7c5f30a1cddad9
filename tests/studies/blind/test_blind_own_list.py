"""``blind_study.py run`` on a list of one's own, from nothing to the page, on a ladder that trains in seconds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from blind_study import app
from typer.testing import CliRunner, Result

from lengthwise.experiments.blind import run as running
from lengthwise.experiments.blind import study as studies
from lengthwise.experiments.blind.ladder import Rung
from lengthwise.experiments.blind.study import write_study

RUNG = Rung(layers=1, heads=1, width=8, lr=1e-2, steps=24, batch=4, norm="rms", weight_decay=0.1)
WORDS = ("run", "--languages", "mine.txt", "--encoding", "nope", "--encoding", "ape")


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a list of two expressions, and a frozen ladder of one small rung."""
    study = write_study(
        tmp_path / "frozen", {"ladder": [RUNG.to_json()], "seeds": [0, 1, 2, 3, 4], "encodings": ["nope", "ape"]}
    )
    monkeypatch.setattr(studies, "frozen_study", lambda: study)
    for name, value in (("FIT_WORDS", 12), ("PROBE_WORDS", 6), ("SIZE", 6)):
        monkeypatch.setattr(running, name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.txt").write_text("# mine\n(a|b)*\n(aa)*\n", encoding="utf-8")
    return tmp_path


def call(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def test_from_a_list_to_a_page(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = call(*WORDS)
    assert answer.exit_code == 0, answer.stderr
    assert "[1/4] (a|b)* ((a|b)*), nope, rung 1" in " ".join(answer.stderr.split())
    assert "[4/4]" in answer.stderr
    folder = mine / "runs" / "blind" / "mine"
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "(aa)*" in page
    assert "<svg" in page
    lines = [line for line in answer.stdout.splitlines() if line.startswith(("(a|b)*", "(aa)*"))]
    assert len(lines) == 4

    monkeypatch.setattr(running, "train_rung", _never)
    again = call(*WORDS, "--json")
    assert again.exit_code == 0
    values = json.loads(again.stdout)
    assert [(row["language"], row["encoding"]) for row in values["cells"]][:2] == [
        ("(a|b)*", "nope"),
        ("(a|b)*", "ape"),
    ]
    table = call("table", "--languages", "mine.txt", "--json")
    assert json.loads(table.stdout) == values, "rebuilt from the files alone"


def test_it_goes_on_where_it_was_stopped(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, left = running.run_rung, [1]
    (mine / "mine.txt").write_text("a*b*\n(aa)*\n", encoding="utf-8")
    words = WORDS[:5]

    def until_interrupted(*given, **more):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return whole(*given, **more)

    monkeypatch.setattr(running, "run_rung", until_interrupted)
    assert call(*words).exit_code != 0
    cells = mine / "runs" / "blind" / "mine" / "cells"
    first = {path.name: path.read_bytes() for path in cells.iterdir()}
    assert len(first) == 1
    monkeypatch.setattr(running, "run_rung", whole)
    assert call(*words).exit_code == 0
    assert len(list(cells.iterdir())) == 2
    assert {name: (cells / name).read_bytes() for name in first} == first


def test_other_position_systems_want_a_list(mine: Path) -> None:
    answer = call("run", "--encoding", "rope", "--out", str(mine / "frozen"))
    assert answer.exit_code
    assert "unknown encoding of the study 'rope'" in str(answer.exception)


def _never(*_given, **_more):
    raise AssertionError("nothing is trained again")
