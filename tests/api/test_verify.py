"""Verify from nothing to a page, on a tiny ladder; what the budget does not suffice for is not a result."""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path

import pytest
from small_rungs import shrink

from lengthwise.api import compare as module
from lengthwise.api.compare import Verification, task_named, verify
from lengthwise.cli.compare import _cell
from lengthwise.core.config import seconds
from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.experiments.blind import run
from lengthwise.experiments.blind.ladder import Rung
from lengthwise.experiments.blind.run import StepWatch
from lengthwise.experiments.blind.study import write_study
from lengthwise.experiments.events import Event
from lengthwise.prediction.reliability import reliability_line
from lengthwise.tasks.language import Language

RUNG = Rung(layers=1, heads=1, width=8, lr=1e-2, steps=24, batch=4, norm="rms", weight_decay=0.1)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    frozen = write_study(tmp_path / "frozen", {"ladder": [RUNG.to_json()], "seeds": [0, 1, 2, 3, 4]})
    monkeypatch.setattr(module, "frozen_study", lambda: frozen)
    shrink(monkeypatch)


@functools.cache
def all_words(out: Path, jobs: int) -> tuple[Verification, list[str]]:
    """A language of which every word is one, under two encodings, and what is noted."""
    notes: list[str] = []
    return verify("(a|b)*", ["nope", "ape"], out=out, budget=300, jobs=jobs, progress=notes.append), notes


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("all-words")


def test_a_language_that_every_model_gets_right(place: Path) -> None:
    out = place / "one"
    done, notes = all_words(out, 1)
    assert [(row["predicted"], row["status"], row["right"]) for row in done.rows] == [("yes", "decided", True)] * 2
    assert done.agrees is True
    page = done.page.read_text(encoding="utf-8")
    assert "(a|b)*" in page
    assert "<svg" in page
    assert "blind study" in page
    written = json.loads((out / "verification.json").read_text(encoding="utf-8"))
    assert written["rows"] == list(done.rows)
    assert any(line.startswith("nope: theory says yes") for line in notes)
    again = verify("(a|b)*", ["nope", "ape"], out=out, budget=1e-9, jobs=1)
    assert again.rows == done.rows, "finished rungs are reused"


def test_a_process_of_its_own_finds_the_same(place: Path) -> None:
    ours, notes = all_words(place / "one", 1)[0], list[str]()
    (theirs,) = verify("(a|b)*", ["nope"], out=place / "two", budget=300, jobs=2, progress=notes.append).rows
    assert "nope, rung 1 begins" in notes, "each rung in a process of its own"
    assert theirs["status"] == "decided"
    assert {**ours.rows[0], "seconds": 0} == {**theirs, "seconds": 0}


def test_a_budget_that_ends_says_how_much_is_missing(tmp_path: Path) -> None:
    """At a loss of 0.000 after three minutes, "not run" alone says nothing."""
    notes: list[str] = []
    verify("(a|b)*", ["nope"], out=tmp_path / "out", budget=1e-9, progress=notes.append)
    line = next(line for line in notes if "the budget is used up" in line)
    assert "the budget is used up at step 1 of 24 of rung 1, loss " in line
    assert "The protocol trains all steps and then tests, and the time for testing is not counted" in line
    assert "this rung takes about 1 more minutes (budget)" in line


def test_without_time_nothing_is_claimed(tmp_path: Path) -> None:
    done = verify("(aa)*", ["nope"], out=tmp_path / "out", budget=1e-9, jobs=1)
    (row,) = done.rows
    assert (row["predicted"], row["status"], row["right"], row["score"]) == ("no", "not finished", None, None)
    assert (row["step"], row["steps"], row["provisional"]) == (1, RUNG.steps, None)
    assert done.agrees is None
    assert "not finished" in done.page.read_text(encoding="utf-8")


class EndsAtStep20(StepWatch):
    def __call__(self, event: Event) -> None:
        self.ends = math.inf if event.done < 20 else 0.0
        super().__call__(event)


def test_a_checkpoint_that_fits_when_the_budget_ends_is_tested_and_called_provisional(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _ = all_words(place / "one", 1)
    with monkeypatch.context() as patched:
        patched.setattr(run, "StepWatch", EndsAtStep20)
        done = verify("(a|b)*", ["nope"], out=tmp_path / "out", budget=300, jobs=1)
    (row,) = done.rows
    assert (row["status"], row["rung"], row["step"], row["fitted"]) == ("provisional", 1, 20, 5)
    assert (row["right"], row["provisional"], row["score"]) == (None, True, 1.0)
    assert done.agrees is None, "it decides nothing"
    assert "1 (step 20 of 24)" in _cell(row), "the terminal says where it stopped"
    assert "provisionally right" in done.to_markdown()
    assert "provisionally" in repr(done), "a narrow terminal breaks the cell"
    assert "provisionally right" in done.page.read_text(encoding="utf-8")
    again = verify("(a|b)*", ["nope"], out=tmp_path / "out", budget=300, jobs=1)
    assert {**again.rows[0], "seconds": 0} == {**whole.rows[0], "seconds": 0}, "it goes on in the same bits"


def test_targets(tmp_path: Path) -> None:
    assert task_named("regex:a*b", "verify") == Language(language="a*b")
    assert task_named("Tomita-4", "verify") == Language(language="Tomita-4")
    assert task_named("unique_copy", "verify").name == "copy"
    with pytest.raises(LengthwiseError):
        task_named("(ab", "verify")
    with pytest.raises(LengthwiseError, match="choose one with longer strings"):
        verify("regex:ab", ["nope"], out=tmp_path / "out", budget=1)
    with pytest.raises(UnknownNameError, match="'rop'"):
        verify("a*", ["rop"], out=tmp_path / "out", budget=1)


def test_the_reliability_is_that_of_the_verdict() -> None:
    counts = {"cells": 28, "decided": 26, "right": 25}
    second = {"cells": 16, "decided": 9, "right": 8}
    measured = {
        "reliability": {"ape": {"yes": counts}, "nope": {"no": counts}},
        "next_symbols": {"nope": {"yes": second}},
        "other_positions": {},
    }
    of = "was true of 25 of 26 other languages that fit (of 28; blind study)"
    yes, no = f"a yes on membership {of}", f"a no on membership {of}"
    assert reliability_line(measured, "ape", "yes") == reliability_line(measured, "ape", "yes", "yes") == yes
    assert reliability_line(measured, "nope", "no") == no
    assert reliability_line(measured, "ape", "no") == ""
    assert reliability_line(measured, "nope", "no", "yes") == (
        f"{no}; a yes on next symbols of 8 of 9 other languages that fit (of 16; second study)"
    )


def test_the_verdict_is_on_next_symbols_which_are_measured(tmp_path: Path) -> None:
    """Whether a word of (a?c)*b* ends depends on its last symbol, but no program without positions recognizes it."""
    lines: list[str] = []
    (row,) = verify("((a?c)*)*b*", ["nope"], out=tmp_path / "out", budget=1e-9, jobs=1, progress=lines.append).rows
    assert (row["predicted"], row["next_symbols"]) == ("yes", "yes")
    assert row["membership"] == "no"
    assert any(
        "theory says yes: the decision finds a program for the next symbols of words of" in line for line in lines
    )
    assert "; a yes on next symbols of " in row["reliability"]
    (row,) = verify("a*", ["nope"], out=tmp_path / "other", budget=1e-9, jobs=1).rows
    assert (row["predicted"], row["next_symbols"]) == ("yes", "yes")


@pytest.mark.parametrize(("text", "found"), [("90s", 90), ("10m", 600), ("1.5h", 5400)])
def test_budgets(text: str, found: float) -> None:
    assert seconds("budget", text) == found


@pytest.mark.parametrize("text", ["", "0s", "ten", "-3m", "5 d"])
def test_bad_budgets(text: str) -> None:
    with pytest.raises(LengthwiseError, match="budget must be a time"):
        seconds("budget", text)
