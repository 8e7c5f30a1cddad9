"""The measurements that ship with the package are those of the committed results."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from lengthwise.prediction.measured import measured as lines
from lengthwise.report.headline import headline_numbers

RESULTS = Path(__file__).parents[2] / "results"


def test_shipped_file_is_made_from_the_results():
    shipped = json.loads(files("lengthwise.prediction").joinpath("measured.json").read_text(encoding="utf-8"))
    assert shipped == headline_numbers(RESULTS)


def test_lines_name_system_fit_and_median():
    (line,) = [line for line in lines({"name": "sparse-parity"}) if line.startswith("K_train = 4, trained to 50")]
    assert "fitted 3 of 3" in line
    # The standard preset has more tests than quick; of these the balanced ones are shown, without k > K_train.
    assert "length 500 (k 2) 1.00, length 500 (k 4) 1.00  (commit" in line
