"""A plain script may train with several processes: none of them runs the script again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import lengthwise as lw
print("begins")
result = lw.Experiment("copy", "coupled", max_length=3, steps=2, model={"width": 16}).run(2, jobs=2, progress=False)
print(len(result), "runs")
"""


@pytest.mark.slow
def test_run_at_the_top_level_of_a_script(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "begins\n2 runs\n"), done.stderr
