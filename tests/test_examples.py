"""Every example is short and runs."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

import lengthwise as lw
from lengthwise.crasp.syntax import load_program

LONGEST, NOTEBOOKS = 50, {"huggingface_addition.py": 80}
"""Most lines of an example, and of those that show a whole experiment from training to its picture."""
FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
RUN_BY = {"explain_gpt2.py": "explanation/test_any_model.py"}
"""Examples that train for seconds, and the tests that run them for what they need."""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs_and_is_short(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= NOTEBOOKS.get(path.name, LONGEST)
    if path.name in RUN_BY:
        assert path.name in (Path(__file__).parent / RUN_BY[path.name]).read_text(encoding="utf-8")
        return
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(path), "2"])  # steps, of what trains for long
    assert runpy.run_path(str(path), run_name="__main__")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_imports_public_modules(path: Path) -> None:
    """`lengthwise` itself, or what its packages make public: no name with an underscore, and three lines at most."""
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    lines = [node for node in tree if isinstance(node, ast.ImportFrom) and str(node.module).startswith("lengthwise.")]
    assert len(lines) <= 3
    for node in lines:
        assert str(node.module).split(".")[1] in lw.__all__, node.module
        assert not [name.name for name in node.names if name.name.startswith("_")]


def test_every_file_is_an_example_that_runs_or_a_program() -> None:
    others = [path for path in FOLDER.iterdir() if path not in EXAMPLES and path.name != "__pycache__"]
    for path in others:
        assert load_program(path).operations, path
