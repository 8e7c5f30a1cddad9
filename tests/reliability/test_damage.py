"""Damaged files end in one clear line, and none is read as something else; see `damage.py` for what it does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

FLIPS = 1000


@pytest.mark.slow
def test_damaged_files() -> None:
    words = [sys.executable, str(Path(__file__).with_name("damage.py")), str(FLIPS)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["faults"] == []
    assert all(row["refused"] > 0 for row in found["counts"].values())
