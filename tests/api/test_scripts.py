"""A plain script may train with several processes: none of them runs the script again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

TRAINS = """
import lengthwise as lw
print("begins")
result = lw.Experiment("copy", "coupled", max_length=3, steps=2, model={"width": 16}).run(2, jobs=2, progress=False)
print(len(result), "runs")
"""


def test_processes_do_not_load_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick half of the test below: this process stands for the interpreter of the script."""
    script = ModuleType("__main__")
    script.__file__ = str(tmp_path / "mine.py")
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'loaded')!r}, 'w').close()", encoding="utf-8")
    monkeypatch.setitem(sys.modules, "__main__", script)
    monkeypatch.chdir(tmp_path)
    ran = dict[str, object]()
    exec(TRAINS, ran)
    assert len(ran["result"]) == 2  # type: ignore[arg-type]
    assert not (tmp_path / "loaded").exists()
    assert sys.modules["__main__"] is script


@pytest.mark.slow
def test_run_at_the_top_level_of_a_script(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TRAINS)
    done = subprocess.run([sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "begins\n2 runs\n"), done.stderr
