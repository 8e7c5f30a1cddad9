"""After a stop at any change to files, or a loss of power there, the same command ends with the same bits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def stopped(tmp_path: Path, *words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("crash_points.py"), words[0], tmp_path, *words[1:]],
        capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["failed"] == found["left"] == [], done.stderr
    assert found["equal"] == found["stopped"] > 0
    return found


@pytest.mark.parametrize("mode", ["kill", "torn", "power"])
def test_some_changes_of_a_run(tmp_path: Path, mode: str) -> None:
    assert stopped(tmp_path, "run", mode, "37")["changes"] > 50


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["kill", "torn", "power"])
@pytest.mark.parametrize("kind", ["run", "stack", "lm", "influence", "blind"])
def test_every_change(tmp_path: Path, kind: str, mode: str) -> None:
    found = stopped(tmp_path, kind, mode)
    assert found["stopped"] == found["changes"]
