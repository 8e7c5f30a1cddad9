"""Fuzzed inputs and damaged files end well or in one clear line; see `fuzz.py` and `damage.py` for what they do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

INPUTS, FLIPS = 100_000, 1000


def run(script: str, count: int) -> dict:
    words = [sys.executable, str(Path(__file__).with_name(script)), str(count)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_fuzzed_inputs() -> None:
    found = run("fuzz.py", INPUTS)
    assert sum(found["fed"].values()) == INPUTS
    assert found["faults"] == []
    assert not found["too_much_memory"]
    assert all(0.1 < found["refused"][kind] / count < 1 for kind, count in found["fed"].items())


@pytest.mark.slow
def test_damaged_files() -> None:
    found = run("damage.py", FLIPS)
    assert found["faults"] == []
    assert all(row["refused"] > 0 for row in found["counts"].values())
