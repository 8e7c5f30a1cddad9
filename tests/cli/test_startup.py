"""Commands that train nothing never import torch, nor anything heavy that they do not draw with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import sys
from lengthwise.cli.main import main
code = main(sys.argv[1:])
print(",".join(sorted({name.split(".")[0] for name in sys.modules})), file=sys.stderr)
sys.exit(code)
"""


def modules_after(*arguments: str, cwd: Path) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments], capture_output=True, text=True, cwd=cwd, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.strip().splitlines()[-1].split(","))


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["show", "addition"],
        ["show", "variable-assignment", "--json"],
        ["run", "addition", "--print-config"],
        ["decide", "(ab)*", "--program"],
        ["crasp", "list"],
        ["crasp", "run", "D-2", "--word", "ab", "--trace"],
        ["crasp", "learn", "bin_majority"],
    ],
    ids=" ".join,
)
def test_no_torch(arguments: list[str], tmp_path: Path) -> None:
    assert modules_after(*arguments, cwd=tmp_path).isdisjoint({"torch", "matplotlib", "jinja2", "automata", "scipy"})
    assert list(tmp_path.iterdir()) == []
