"""What goes to a paper: every export says how many seeds there are and how many of them its numbers are of."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from made_up import experiment, result, score

import lengthwise as lw


@pytest.fixture
def results(tmp_path: Path) -> lw.Result:
    """One system with two of three seeds fitted, and one with none of two."""
    given = [
        *[result("mostly", seed, fitted=seed < 2, scores=[score(8, 200 - seed)]) for seed in range(3)],
        *[result("never", seed, fitted=False, scores=[score(8, 7)], config=experiment("pose")) for seed in range(2)],
    ]
    return write(given, tmp_path)


def write(given: list[dict], folder: Path) -> lw.Result:
    for index, values in enumerate(given):
        (folder / str(index)).mkdir()
        (folder / str(index) / "result.json").write_text(json.dumps(values))
    return lw.results(folder)


def test_unfitted_seeds_are_counted_in_every_export(results: lw.Result) -> None:
    for table in (results, results.accuracy()):
        frame = table.to_frame()
        assert frame.groupby("system")[["seeds", "fitted"]].first().to_numpy().tolist() == [[3, 2], [2, 0]]
        rows = [line.split(",") for line in table.to_csv().splitlines()]
        at = [rows[0].index(name) for name in ("system", "seeds", "fitted")]
        assert {tuple(row[index] for index in at) for row in rows[1:]} == {("mostly", "3", "2"), ("never", "2", "0")}
        latex = table.to_latex()
        assert "never" in latex
        assert " seeds " in latex


def test_a_system_without_a_fitted_seed_has_a_row_without_numbers(results: lw.Result) -> None:
    table = results.accuracy().table()
    (row,) = [dict(zip(table.columns, row, strict=True)) for row in table.rows if row[0] == "never"]
    assert [row[name] for name in ("length", "median", "low", "high")] == [None] * 4
    assert "7" not in "".join(str(value) for value in row.values())


def test_a_system_has_one_name_alone_and_among_others(tmp_path: Path) -> None:
    other = copy.deepcopy(experiment())
    other["training"]["steps"] = 77
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    alone = write([result("mine")], tmp_path / "a")
    both = write([result("mine"), result("mine", config=other)], tmp_path / "b")
    for found in (alone, both):
        assert set(found.to_frame()["system"]) == set(found.accuracy().to_frame()["system"]) == {"mine"}
    assert list(both.to_frame()["settings"]) == ["steps=1000", "steps=77"]
    assert "settings" not in repr(alone)
