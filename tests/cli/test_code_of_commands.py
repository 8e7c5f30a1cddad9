"""Each command that is printed for a run of a file's task works as it is printed: it names that file."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import fresh_process
import lengthwise as lw

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_task.py"


def ran(words: list[str]) -> str:
    """What a command prints in a process that knows nothing of the file."""
    done = fresh_process.ran(f"import sys; from lengthwise.cli.main import main; sys.exit(main({words!r}))")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_commands_printed_for_a_task_of_a_file_work_as_printed(tmp_path: Path) -> None:
    file = Path(shutil.copy(EXAMPLE, tmp_path / "my own.py"))
    made = lw.Experiment(
        f"{file}:EverySecond", "coupled", "learned", max_length=3, test_lengths=[3, 24], steps=60,
        model={"layers": 1, "width": 16}, evaluation={"fit_threshold": 0.001},
    )  # fmt: skip
    made.run(seeds=1, out=tmp_path / "runs", progress=False)
    advice = ";".join(lw.results(tmp_path / "runs").wide().advice)
    explain, predict = (re.search(rf"(lengthwise [^;]*{verb} [^;]*)", advice) for verb in ("explain", "predict"))
    assert explain is not None
    assert predict is not None
    words = [*shlex.split(explain[1])[1:], "--samples=8", "--seconds=1", "--json"]
    assert words[:2] == ["--code", str(file)]
    command = json.loads(ran(words))["command"]
    again = shlex.split(command)[1:]
    assert again[:2] == ["--code", str(file)]
    assert "EverySecond" in ran([*again, "--print-config"] if "run" in again else [*again, "--seconds=1"])
    assert "EverySecond" in ran(shlex.split(predict[1])[1:])
