"""The committed study: its hash, the languages that the code draws, its result files, and the table made from them."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import blind_draw as draw
import keep
import pytest
from comparison import table
from file_list import check_files, read_index
from table_parts import results

from lengthwise.experiments.blind.ladder import LADDER
from lengthwise.experiments.blind.study import FILE, FROZEN, frozen_study, read_study
from lengthwise.prediction.reliability import measured_reliability

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "studies" / "blind" / "results" / "blind"
STUDY = read_study(FOLDER)


def test_the_package_ships_the_committed_preregistration() -> None:
    assert (FROZEN / FILE).read_bytes() == (FOLDER / FILE).read_bytes()
    assert frozen_study().sha256 == STUDY.sha256
    assert STUDY.ladder == LADDER
    assert len(STUDY.seeds) == 5


def test_the_languages_are_those_that_the_code_draws() -> None:
    drawn = [(item.name, item.expression, item.nope, item.ape) for item in draw.draw()]
    listed = [
        (entry.name, entry.expression, entry.predicted["nope"], entry.predicted["ape"]) for entry in STUDY.entries()
    ]
    assert listed == drawn
    assert len(listed) == 42
    assert len(STUDY.entries("published")) == 25


def test_no_result_file_is_missing_and_the_table_is_made_from_them() -> None:
    check_files(STUDY)
    started = time.perf_counter()
    values = table(STUDY)
    assert time.perf_counter() - started < 10
    assert len(values["cells"]) == 84
    assert json.loads((FOLDER / "table.json").read_text(encoding="utf-8")) == json.loads(json.dumps(values))
    second = table(read_study(FOLDER.with_name("blind-next")))
    others = table(read_study(results("variants") / "study"), encodings=["rope", "alibi"])
    tables = {"reliability": values, "next_symbols": second, "other_positions": others}
    for name, found in tables.items():
        for encoding, by_answer in found["reliability"].items():
            for answer, counts in by_answer.items():
                assert {**measured_reliability()[name][encoding][answer], "not run": 0} == counts


def test_no_result_file_that_a_commit_added_is_missing() -> None:
    """Where there is no history (an archive, a clone of one commit) the list of the study has to do."""
    where = "results/blind", "studies/blind/results/blind"  # then and now
    command = ["git", "log", "--diff-filter=A", "--no-renames", "--name-only", "--format=", "--", *where]
    try:
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):
        found = []
    added = {keep.parts(path) for path in found if "/cells/" in path or "/published/" in path}
    assert [rest for recipe, rest in added if not (results(recipe) / rest).exists()] == []
    assert {rest for _, rest in added} <= set(read_index(FOLDER))


def test_every_attempt_is_one_line() -> None:
    lines = (FOLDER / "attempts.jsonl").read_text(encoding="utf-8").splitlines()
    attempts = [json.loads(line) for line in lines]
    assert len(attempts) >= 18
    study = {entry.expression for entry in STUDY.entries()}
    for attempt in attempts:
        assert {"language", "encoding", "rung", "seeds", "looked_at"} <= set(attempt)
        assert attempt["language"] not in study


@pytest.mark.parametrize("name", ["ladder", "fitted", "speaks", "words", "score", "decision", "interval", "test"])
def test_the_rules_are_written_down(name: str) -> None:
    assert STUDY.content["rules"][name]
