"""The whole way of a small study: run, resume, table, and what the table refuses."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from blind_study import run_study
from comparison import table
from file_list import INDEX, list_cells

from lengthwise.core.errors import LengthwiseError
from lengthwise.experiments.blind import run as running
from lengthwise.experiments.blind.study import FILE, BlindStudy, cell_path, read_study, write_study
from lengthwise.experiments.events import Event


def test_from_nothing_to_a_table(study: BlindStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {row["status"] for row in table(study)["cells"]} == {"not run"}
    notes: list[Event] = []
    run_study(study, "languages", tmp_path / "work", progress=notes.append)
    values = table(study)
    assert values["complete"]
    everything, parity = values["cells"][0], values["cells"][2]
    assert (everything["predicted"], everything["status"], everything["right"]) == ("yes", "decided", True)
    assert (parity["predicted"], parity["status"], parity["right"], parity["rung"]) == ("no", "not fitted", None, 2)
    assert len(parity["seeds"]) == 5
    assert all(set(seed["sets"]) == {"51-100", "101-150", "151-300"} for seed in parity["seeds"]), "shown all the same"
    assert all(set(seed["sets"]["101-150"]) == {"uniform", "adversarial"} for seed in parity["seeds"])
    assert values["counts"]["no"] == {"cells": 2, "decided": 0, "right": 0, "not fitted": 2, "not run": 0}
    assert any("[1/4]" in note.text for note in notes)
    assert {path.suffix for path in (tmp_path / "work").iterdir()} == {".lock"}, "no checkpoint is left"

    monkeypatch.setattr(running, "train_rung", _never)
    run_study(study, "languages", tmp_path / "work")
    assert table(study) == values, "a finished study is not run again"
    _refuses_what_was_changed(study)


def _refuses_what_was_changed(study: BlindStudy) -> None:
    path = cell_path(study, "languages", "parity", "ape", 1)
    text = path.read_text(encoding="utf-8")
    path.unlink()
    with pytest.raises(LengthwiseError, match=r"is listed in files\.json and missing"):
        table(study)
    path.write_text(text.replace('"fitted": 0', '"fitted": 5'), encoding="utf-8")
    with pytest.raises(LengthwiseError, match=r"is not the one in files\.json"):
        table(study)
    path.write_text(text, encoding="utf-8")
    other = path.with_name("parity-ape-rung7.json")
    other.write_text(text, encoding="utf-8")
    with pytest.raises(LengthwiseError, match="is not listed"):
        table(study)
    other.unlink()
    index = study.folder / INDEX
    foreign = json.loads(text) | {"preregistration": "0" * 64}
    path.write_text(json.dumps(foreign), encoding="utf-8")
    index.unlink()
    with pytest.raises(LengthwiseError):
        table(study)


def test_an_interrupted_rung_goes_on(study: BlindStudy, tmp_path: Path) -> None:
    study = write_study(tmp_path / "parity", {**study.content, "languages": study.content["languages"][1:]})
    done: list[int] = []

    def interrupt(event: Event) -> None:
        done.extend([event.done] if event.phase == "train" else [])
        if len(done) == 17:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(study, "languages", tmp_path / "work", encodings=["nope"], progress=interrupt)
    run_study(study, "languages", tmp_path / "work", encodings=["nope"])
    resumed = _numbers(study)
    again = write_study(tmp_path / "again", study.content)
    run_study(again, "languages", tmp_path / "other work", encodings=["nope"])
    assert _numbers(again) == resumed, "a function of seed and step"


def test_two_processes_share_a_study(study: BlindStudy, tmp_path: Path) -> None:
    """While one is at work on a cell the other does the rest, and the index has the results of both."""
    work, nope = tmp_path / "work", ["nope"]
    notes: list[str] = []

    def keep(event: Event) -> None:
        notes.extend([event.text] if event.text else [])

    def other(event: Event) -> None:
        keep(event)
        if event.text.startswith("[1/2]") and "fitted" in event.text:
            run_study(study, "languages", work, encodings=nope, progress=keep)

    run_study(study, "languages", work, encodings=nope, progress=other)
    assert sum("another process is at work on it" in line for line in notes) == 1
    assert len([line for line in notes if line.endswith("rung 1")]) == 2, "no cell is run twice"
    assert table(study, encodings=nope)["complete"]
    many = [threading.Thread(target=list_cells, args=(study, [path])) for path in (study.folder / "cells").iterdir()]
    (study.folder / INDEX).unlink()
    for thread in many:
        thread.start()
    for thread in many:
        thread.join()
    assert table(study, encodings=nope)["complete"], "no entry of the index is lost"


def _numbers(study: BlindStudy) -> list[Any]:
    return [row["seeds"] for row in table(study)["cells"]]


def _never(*arguments: Any, **names: Any) -> Any:
    raise AssertionError("trained again")


def test_a_preregistration_names_itself(study: BlindStudy) -> None:
    path = study.folder / FILE
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"title": "small"', '"title": "larger"'), encoding="utf-8")
    with pytest.raises(LengthwiseError, match="is not what its SHA-256 says"):
        read_study(study.folder)
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(LengthwiseError, match="is no preregistration"):
        read_study(study.folder)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LengthwiseError, match="holds another study"):
        write_study(study.folder, {**study.content, "title": "other"})
