"""Verify from nothing to a page, at a tiny size; what the budget does not suffice for is not a result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lengthwise.cli.verify import read_budget
from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.experiments.recipes.huang_cells import Range, Size
from lengthwise.tasks.language import Language
from lengthwise.workflows import verify as module
from lengthwise.workflows.agreement import rebuild
from lengthwise.workflows.verify import experiments, sizes, task_named, verify


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SPAN", Range(4, 20))
    monkeypatch.setattr(module, "sizes", lambda task, encoding: (Size(1, 1, 16, 1e-2, 300),))


def test_a_language_that_every_model_gets_right(tmp_path: Path) -> None:
    notes: list[str] = []
    done = verify("(a|b)*", ["nope", "ape"], tmp_path, budget=120, note=notes.append)
    assert [(row["predicted"], row["status"], row["right"]) for row in done.rows] == [("yes", "fitted", True)] * 2
    assert done.agrees is True
    assert done.rows[0]["median"] == {"5-8": 1.0, "9-12": 1.0}
    page = done.page.read_text(encoding="utf-8")
    assert "(a|b)*" in page
    assert "<svg" in page
    assert "2 of 2" in page
    written = json.loads((tmp_path / "verification.json").read_text(encoding="utf-8"))
    assert written["rows"] == list(done.rows)
    assert any(line.startswith("nope: theory says yes") for line in notes)
    assert verify("(a|b)*", ["nope", "ape"], tmp_path, budget=1e-9).rows == done.rows, "finished seeds are reused"


def test_without_time_nothing_is_claimed(tmp_path: Path) -> None:
    done = verify("(aa)*", ["nope"], tmp_path, budget=1e-9)
    (row,) = done.rows
    assert (row["predicted"], row["status"], row["right"], row["median"]) == ("no", "not run", None, {})
    assert done.agrees is None
    assert "not run" in done.page.read_text(encoding="utf-8")


def test_targets() -> None:
    assert task_named("regex:a*b") == Language(language="a*b")
    assert task_named("Tomita-4") == Language(language="Tomita-4")
    assert task_named("unique_copy").name == "copy"
    with pytest.raises(LengthwiseError):
        task_named("(ab")
    with pytest.raises(LengthwiseError, match="nothing about longer ones"):
        experiments(task_named("regex:ab"), "nope")
    with pytest.raises(UnknownNameError, match="encoding 'rop'"):
        verify("a*", ["rop"], Path("unused"), budget=1)


@pytest.mark.parametrize(
    ("target", "encoding", "counts", "decay"),
    [
        ("(aa)*", "ape", False, 1.0),
        ("(aa)*", "nope", False, 0.01),
        ("(ab)*", "ape", True, 1.0),
        ("(ab)*", "nope", True, 1.0),
    ],
)
def test_the_verdicts_choose_what_is_tried(target: str, encoding: str, counts: bool, decay: float) -> None:
    first = sizes(task_named(target), encoding)[0]
    assert (first.peri, first.decay) == (counts, decay)


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1.5h", 5400)])
def test_budgets(text: str, seconds: float) -> None:
    assert read_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "ten", "-3m", "5 d"])
def test_bad_budgets(text: str) -> None:
    with pytest.raises(LengthwiseError, match="--budget must be a time"):
        read_budget(text)


def test_the_table_of_nothing_says_so(tmp_path: Path) -> None:
    rows, counts = rebuild([tmp_path], tmp_path / "out")
    assert len(rows) == counts["not run"] == 50
    assert len(json.loads((tmp_path / "out" / "table.json").read_text(encoding="utf-8"))) == 50
    assert (tmp_path / "out" / "report.html").exists()
    with pytest.raises(LengthwiseError, match="no folder"):
        rebuild([tmp_path / "missing"], tmp_path)
