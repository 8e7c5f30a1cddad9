"""Every example is short and runs."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs_and_is_short(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 40
    monkeypatch.chdir(tmp_path)
    assert runpy.run_path(str(path), run_name="__main__")
