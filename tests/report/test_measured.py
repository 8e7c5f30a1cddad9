"""The measurements that ship with the package are those of the committed results."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from lengthwise.prediction.measured import measured as lines
from lengthwise.report.measured import measured

RESULTS = Path(__file__).parents[2] / "results"


def test_shipped_file_is_made_from_the_results():
    shipped = json.loads(files("lengthwise.prediction").joinpath("measured.json").read_text(encoding="utf-8"))
    assert shipped == measured(RESULTS)


def test_lines_name_system_fit_and_median():
    (line,) = lines("sparse-parity")
    assert "fitted 5 of 5" in line
    assert "length 500 (k 4) 1.00" in line
