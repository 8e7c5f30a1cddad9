"""SIGKILL at random moments over every kind of work: no run is lost, nothing is left over, and the bits stay."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = {"run": 60, "stack": 50, "cluster": 30, "lm": 20, "influence": 10, "blind": 20, "jobs": 10}
"""200 in all."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KILLS)
def test_kills(tmp_path: Path, kind: str) -> None:
    script = Path(__file__).with_name("kill_server.py")
    done = subprocess.run(
        [sys.executable, script, kind, tmp_path, str(KILLS[kind]), "0"],
        capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["killed"] >= KILLS[kind]
    assert found["equal"] == found["runs"]
    assert found["left"] == []
