"""Every command that computes with torch takes ``--threads``; of the others it is shown that they never load it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from named_options import commands, options_of
from terminal import Terminal

ROOT = Path(__file__).parents[2]
WITHOUT_TORCH = {
    "list": "list",
    "show": "show addition",
    "report": f"report {ROOT}/studies/theory/results/planted-theory -o page.html",
    "predict": "predict addition",
    "decide": "decide a* --certificates certificates.json",
    "check-certificates": "check-certificates certificates.json",
    "export": "export lm-eval addition --out harness",
    "crasp run": "crasp run D-2 --word ab",
    "crasp check": "crasp check D-2",
    "crasp list": "crasp list",
    "crasp print": "crasp print D-2",
    "crasp learn": "crasp learn parity --max-size 2",
}
"""A call of every command without the option; a later one reads what an earlier one wrote."""

PROGRAM = """
import contextlib, io, json, sys
from lengthwise.cli.main import main

for words in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main(words.split())
    print(json.dumps({"words": words, "code": code, "torch": "torch" in sys.modules, "said": said.getvalue()[-300:]}))
"""


def test_every_command_that_computes_has_threads() -> None:
    missing = {name for name in commands() if "--threads" not in options_of(name.split())}
    assert missing == set(WITHOUT_TORCH)


def test_the_others_never_load_torch(tmp_path: Path) -> None:
    called = [sys.executable, "-c", PROGRAM, json.dumps(list(WITHOUT_TORCH.values()))]
    done = subprocess.run(called, capture_output=True, text=True, cwd=tmp_path, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["words"] for row in rows] == list(WITHOUT_TORCH.values())
    assert [row for row in rows if row["code"] or row["torch"]] == []


@pytest.mark.parametrize("name", sorted(set(commands()) - set(WITHOUT_TORCH)))
def test_fewer_than_one_thread_is_refused_before_anything_else(terminal: Terminal, name: str) -> None:
    """Other arguments are only as many as the parser wants."""
    more = {"couple": ["addition"], "compare": ["addition"], "plan": ["addition"], "verify": ["addition"],
            "check": ["addition"], "crasp compile": ["D-2"], "run": ["addition"],
            "audit": ["nowhere"],
            "explain": ["nowhere"], "lm train": ["--out", "nowhere"], "lm extend": ["nowhere"]}  # fmt: skip
    answer = terminal(*name.split(), *more.get(name, []), "--threads", 0)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "error: --threads must be at least 1, got 0\n"
