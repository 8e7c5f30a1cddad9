"""The measurements that ship with the package are those of the committed results."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from lengthwise.prediction.measured import measured as lines
from lengthwise.report.summary import headline_numbers

RESULTS = Path(__file__).parents[2] / "results"


def test_shipped_file_is_made_from_the_results():
    shipped = json.loads(files("lengthwise.prediction").joinpath("measured.json").read_text(encoding="utf-8"))
    assert shipped == headline_numbers(RESULTS)


def test_lines_name_system_fit_and_median():
    (line,) = [line for line in lines({"name": "sparse-parity"}) if line.startswith("K_train = 4, trained to 50")]
    assert "fitted 3 of 3" in line
    # The standard preset has more tests than quick; of these the balanced ones are shown, without k > K_train.
    assert "length 500 (k 2) 1.00, length 500 (k 4) 1.00  (commit" in line


def test_the_frozen_ladder_is_shown_before_the_search():
    """D-2 without positions: a search found settings that hold, and one ladder for all tasks did not."""
    first, searched = [line for line in lines({"name": "language", "language": "D-2"}) if line.startswith("D-2, nope")]
    cells = json.loads((RESULTS / "blind" / "published-table.json").read_text(encoding="utf-8"))["cells"]
    (cell,) = [cell for cell in cells if (cell["language"], cell["encoding"]) == ("D-2", "nope")]
    assert (
        f"rung {cell['rung']}, trained to 50: fitted {cell['fitted']} of 5, length 101–150 {cell['score']:.2f}" in first
    )
    assert "one ladder of settings for all tasks" in first
    assert "settings searched with results seen" in searched


def test_a_cell_that_did_not_fit_has_no_accuracy():
    rows = [row for row in headline_numbers(RESULTS)["systems"] if row["recipe"] == "blind" and not row["cells"]]
    assert rows
    assert all(row["fitted"] < 4 for row in rows)
