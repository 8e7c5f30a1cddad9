"""The table of a study in a terminal: plain columns and small tables, and nothing that is nested deeper."""

from __future__ import annotations

import pytest

from lengthwise.cli import run as study_view


def test_what_is_nested_deeper_stays_in_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    row = {
        "seed": 3, "held_out": True, "errors": {"50": 0.25, "150": None}, "summary": {"rules": {"greedy": 1.0}},
        "curve": [1, 2],
    }  # fmt: skip
    study_view._draw_rows([row, {**row, "seed": 4}])
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["seed", "held", "out", "errors"]
    assert first.split() == ["3", "yes", "0.25", "/", "-"]
    assert second.split()[0] == "4"
