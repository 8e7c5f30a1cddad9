"""The table of the 25 tasks is written from results alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from agreement import main, rebuild

from lengthwise.core.errors import LengthwiseError

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_is_rebuilt_from_result_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(ROOT / "studies" / "huang" / "results" / "huang"), "--out", str(tmp_path)]) == 0
    assert "after a search on these 25 tasks" in " ".join(capsys.readouterr().out.split())
    assert {path.name for path in tmp_path.iterdir()} == {"table.json"}


def test_no_results_leave_the_table_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LengthwiseError, match="no results of recipe huang"):
        rebuild([tmp_path], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert main([str(tmp_path / "missing")]) == 2
    assert "no folder" in capsys.readouterr().err
