"""What `predict` shows as measured comes from the evidence, and agrees with the committed tables."""

from __future__ import annotations

import json
from pathlib import Path

from lengthwise.prediction.measured import CUT, by_position, measured, shown_rows

RESULTS = Path(__file__).parents[2] / "studies" / "blind" / "results"


def test_lines_name_system_fit_and_median():
    (line,) = [line for line in measured({"name": "sparse-parity"}) if line.startswith("K_train = 4, trained to 50")]
    assert "fitted 3 of 3" in line
    # The standard preset has more tests than quick; of these the balanced ones are shown, without k > K_train.
    assert "length 500 (k 2) 1.00, length 500 (k 4) 1.00  (commit" in line


def test_the_frozen_ladder_is_shown_before_the_search():
    """D-2 without positions: a search found settings that hold, and one ladder for all tasks did not."""
    lines = measured({"name": "language", "language": "D-2"})
    first, searched = [line for line in lines if line.startswith("D-2, nope")]
    cells = json.loads((RESULTS / "blind" / "published-table.json").read_text(encoding="utf-8"))["cells"]
    (cell,) = [cell for cell in cells if (cell["language"], cell["encoding"]) == ("D-2", "nope")]
    expected = f"rung {cell['rung']}, trained to 50: fitted {cell['fitted']} of 5, length 101–150 {cell['score']:.2f}"
    assert expected in first
    assert "one ladder of settings for all tasks" in first
    assert "settings searched with results seen" in searched


def test_a_cell_that_did_not_fit_has_no_accuracy():
    rows = [row for row in shown_rows() if row.cell.study == "blind-published" and not row.medians]
    assert rows
    assert all(sum(row.cell.fitted) < 4 for row in rows)


def test_settings_against_a_verdict_are_fitted_ones():
    for (_, system), rows in by_position().items():
        assert all(2 * sum(row.cell.fitted) > len(row.cell.seeds) for row in rows), system
    (d2,) = [rows for (task, system), rows in by_position().items() if '"D-2"' in task and system == "nope"]
    assert sum(row.highest < CUT for row in d2) == 2
    assert len(d2) == 3
