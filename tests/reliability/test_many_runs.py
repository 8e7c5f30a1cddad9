"""Thousands of finished runs: one page of all, with every file read once and no more pictures than a page can show."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import many_runs
import pytest

import lengthwise as lw
from lengthwise.core import files
from lengthwise.prediction import predict
from lengthwise.report import page

SECONDS, MIB = 10, 500


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three recipes of fifty systems, with a few seeds each."""
    folder = tmp_path_factory.mktemp("many")
    for recipe in range(3):
        for name in range(many_runs.NAMES):
            for width in many_runs.WIDTHS:
                for seed in range(2):
                    path = folder / f"sweep{recipe}" / f"{name}-{width}-{seed}" / "result.json"
                    path.parent.mkdir(parents=True)
                    path.write_text(json.dumps(many_runs.result(f"sweep{recipe}", name, width, seed)))
    return folder


def test_a_page_of_many_runs(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    asked: list[object] = []
    drawn: list[int] = []
    whole, ask = files.read_text, predict.predict_task
    monkeypatch.setattr(files, "read_text", lambda path, **named: (read.append(path), whole(path, **named))[1])
    monkeypatch.setattr(page, "predict_task", lambda *values: (asked.append(values), ask(*values))[1])
    monkeypatch.setattr(page, "draw_accuracy", lambda systems, *_: drawn.append(len(systems)))
    monkeypatch.setattr(page, "MOST_DRAWN", 60)
    text = page.read_report([runs]).html()
    assert len(read) == len(set(read)) == 300
    assert {path.name for path in read} == {"result.json"}
    assert drawn == [50, 50], "the first recipe in two widths, and no other one"
    assert text.count("Not drawn, since this page has many systems") == 2
    assert len(asked) == 3, "theory is asked once in a recipe for a task and a position system"
    assert len(re.findall("<details><summary>[^<]*</summary><pre>", text)) == 150, "every system is on the page"


def test_each_result_is_read_once_and_configurations_are_shared(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    whole = files.read_text
    monkeypatch.setattr(files, "read_text", lambda path, **named: (read.append(path), whole(path, **named))[1])
    found = lw.results(runs)
    assert len(found) == len(read) == 300
    assert len({id(run.experiment) for run in found.runs}) == 50, "equal ones are one object"
    assert {folder / "result.json" for folder in found.folders} == set(read)


@pytest.mark.slow
def test_ten_thousand_runs(tmp_path: Path) -> None:
    runs = str(tmp_path / "runs")
    many_runs.make(tmp_path / "runs", 10_000)
    compare = ["compare", "copy", "--systems=nope", "--seeds=1", "--max-length=3", "--budget=1h", f"--out={runs}"]
    report = ["report", runs, "-o", str(tmp_path / "page.html")]
    every = (
        (report, 10_000),
        (["results", runs], 10_000),
        (["list"], 0),
        (["evidence"], 0),
        (compare, 20),
        (compare, 20),
    )
    for words, most in every:
        command = [sys.executable, many_runs.__file__, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
        found = json.loads(done.stderr.splitlines()[-1])
        assert found["code"] == 0
        assert found["peak_mib"] < MIB
        assert found["cpu_seconds"] < SECONDS
        assert sum(found["opened"].values()) <= most
