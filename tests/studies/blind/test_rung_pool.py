"""Rungs side by side: the order in which they start, and that the outcome is that of climbing one after the other."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from blind_study import run_study
from comparison import table
from preregister import entry

from lengthwise.experiments.blind.ladder import Rung
from lengthwise.experiments.blind.run import run_within, rung_order
from lengthwise.experiments.blind.study import BlindStudy, cell_path, cell_row, write_cell, write_study
from lengthwise.experiments.events import Event
from lengthwise.tasks.language import Language

TINY = Rung(layers=1, heads=1, width=8, lr=1e-2, steps=20, batch=4, norm="peri", weight_decay=0.1)


def _study(folder: Path, texts: tuple[str, ...], steps: tuple[int, ...] = (20, 20, 20)) -> BlindStudy:
    return write_study(
        folder,
        {
            "title": "small",
            "ladder": [dataclasses.replace(TINY, steps=count).to_json() for count in steps],
            "seeds": [0, 1, 2, 3, 4],
            "encodings": ["nope", "ape"],
            "languages": [dict(entry(text, Language(language=text), ["nope", "ape"])) for text in texts],
            "published": [],
        },
    )


def _ended(study: BlindStudy, name: str, encoding: str, number: int, *, speaks: bool) -> None:
    write_cell(
        study, cell_path(study, "languages", name, encoding, number), {"fitted": 4 if speaks else 3, "speaks": speaks}
    )


def _order(study: BlindStudy, encodings: tuple[str, ...] = ("nope", "ape")) -> list[tuple[str, int]]:
    return [(job.encoding, job.number) for job in rung_order(study, study.folder, encodings, 0.0)]


def test_a_no_starts_with_its_first_and_its_last_rung(tmp_path: Path) -> None:
    study = _study(tmp_path, ("(aa)*",))
    assert _order(study) == [("nope", 1), ("nope", 3), ("ape", 1), ("nope", 2), ("ape", 2), ("ape", 3)]
    _ended(study, "(aa)*", "nope", 1, speaks=False)
    assert _order(study)[:2] == [("nope", 2), ("nope", 3)]
    _ended(study, "(aa)*", "ape", 1, speaks=True)
    assert _order(study) == [("nope", 2), ("nope", 3)], "nothing is left of a cell that is decided"
    _ended(study, "(aa)*", "nope", 3, speaks=True)
    assert _order(study) == [("nope", 2)], "the rung below may still speak"
    _ended(study, "(aa)*", "nope", 2, speaks=True)
    assert _order(study) == []


def test_yes_waits_for_its_first_rungs(tmp_path: Path) -> None:
    assert _order(_study(tmp_path, ("(ab)*",)))[:2] == [("nope", 1), ("ape", 1)]


@pytest.mark.slow
def test_the_outcome_is_that_of_climbing(tmp_path: Path) -> None:
    """No rung speaks; what a later one says does not depend on when it was trained."""
    one, other = _study(tmp_path / "one", ("(aa)*",), (3, 3)), _study(tmp_path / "other", ("(aa)*",), (3, 3))
    run_study(one, "languages", tmp_path / "work", encodings=["nope"])
    notes: list[Event] = []
    run_within(other, tmp_path / "more work", ["nope"], budget=900, jobs=2, progress=notes.append)
    shown = [
        [(row["status"], row["rung"], row["score"], row["seeds"]) for row in _rows(study)] for study in (one, other)
    ]
    assert shown[0] == shown[1]
    assert shown[0][0][:2] == ("not fitted", 2)
    assert any("rung 2 begins" in note.text for note in notes)
    assert [path for path in (tmp_path / "more work").iterdir() if path.name != ".lock"] == []


def _rows(study: BlindStudy) -> list[dict]:
    return [cell_row(study, "languages", item, encoding) for item in study.entries() for encoding in ("nope", "ape")]


def test_without_time_nothing_is_left_behind_that_counts(tmp_path: Path) -> None:
    study = _study(tmp_path / "study", ("(aa)*",))
    notes: list[Event] = []
    run_within(study, tmp_path / "work", ["nope"], budget=1e-9, jobs=2, progress=notes.append)
    assert [row["status"] for row in _rows(study)] == ["not run", "not run"]
    assert sum("the budget is used up at step 1 of 20 of rung 1" in note.text for note in notes) == 1
    assert not table(study)["complete"]
