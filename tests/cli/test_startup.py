"""Commands that train nothing never import torch, nor anything heavy that they do not draw with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_threads_option import WITHOUT_TORCH

ROOT = Path(__file__).parents[2]
HEAVY = ("torch", "matplotlib", "jinja2", "automata", "scipy", "pandas", "sklearn")
COMMANDS = (
    "list",
    "show addition",
    "show variable-assignment --json",
    "run addition --print-config",
    "predict addition",
    "predict (ab)*",
    "predict regex:(aa)* --why",
    "predict (aa)* --encoding rope",
    "predict addition --scheme coupled",
    "decide (ab)* --program",
    "couple copy --lengths 5,8",
    "crasp check D-2",
    "crasp list",
    "crasp print D-2",
    "crasp run D-2 --word ab --trace",
    "crasp learn bin_majority --max-size 2",
)
"""None of these writes a file."""
WRITING = (
    "decide a* --certificates certificates.json",
    "check-certificates certificates.json",
    "export lm-eval addition --out harness",
    f"report {ROOT}/studies/theory/results/planted-theory -o page.html",
    "explore (ab)* --static site",
)
"""A later one reads what an earlier one wrote; the last two draw with matplotlib and jinja2."""
PROGRAM = """
import contextlib, io, json, os, sys
from lengthwise.cli.main import main

heavy = json.loads(sys.argv[2])
for words in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main(words.split())
    loaded = [name for name in heavy if name in sys.modules]
    row = {"words": words, "code": code, "loaded": loaded, "files": os.listdir(), "said": said.getvalue()[-300:]}
    print(json.dumps(row))
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What each command did, one after the other in a process that starts from nothing."""
    called = [sys.executable, "-c", PROGRAM, json.dumps([*COMMANDS, *WRITING]), json.dumps(HEAVY)]
    folder = tmp_path_factory.mktemp("startup")
    done = subprocess.run(called, capture_output=True, text=True, cwd=folder, check=True, timeout=240)
    return {row["words"]: row for row in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("command", [*COMMANDS, *WRITING])
def test_nothing_heavy_is_loaded(rows: dict[str, dict[str, Any]], command: str) -> None:
    row, draws = rows[command], command.startswith(("report", "explore"))
    assert row["code"] == 0, row["said"]
    assert set(row["loaded"]) <= ({"matplotlib", "jinja2"} if draws else set())
    assert (row["files"] == []) is (command in COMMANDS)


def test_every_command_without_torch_is_here() -> None:
    called = (*COMMANDS, *WRITING)
    assert {name for name in WITHOUT_TORCH if not any(words.startswith(name) for words in called)} == set()
