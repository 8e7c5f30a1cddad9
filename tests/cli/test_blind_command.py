"""``blind table`` in a terminal of 80 columns, and the lines that a long training prints."""

from __future__ import annotations

import pytest
from terminal import Terminal

from lengthwise.cli import blind_view


def test_the_table_fits_a_narrow_terminal(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    answer = terminal("blind", "table")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert all(len(line.rstrip()) <= 80 for line in lines)
    assert "…" not in answer.out
    cells = [line.split() for line in lines if line.startswith("blind-")]
    assert len(cells) == 84
    assert {line[1] for line in cells} == {"nope", "ape"}


def test_a_long_training_prints_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(blind_view.time, "monotonic", lambda: now[0])
    lines: list[str] = []
    on_step = blind_view.step_lines(lines.append, seconds=15)
    for step in range(1, 41):
        now[0] = float(step)
        on_step(step, 0.5)
    assert lines == ["  step 15, loss 0.5000", "  step 30, loss 0.5000"]
