"""A new task is a new file, a new encoding or scheme a class in one file; nothing else lists their members."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import lengthwise
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES

SOURCE = Path(lengthwise.__file__).parent

NEW_TASK = """
from lengthwise.tasks.base import TASKS
from lengthwise.tasks.copying import Copy

@TASKS.register("brand-new")
class BrandNew(Copy):
    summary = "a task of this test"
"""


@pytest.mark.parametrize(("room", "text"), [("tasks", NEW_TASK)])
def test_a_new_file_is_enough(room: str, text: str, tmp_path: Path):
    """One file in the folder, and the component trains by name and is listed."""
    (tmp_path / "brand_new.py").write_text(text, encoding="utf-8")
    kind = room.removesuffix("s")
    code = (
        "import sys, pkgutil\n"
        "listed = pkgutil.iter_modules\n"
        "def with_one_more(path):\n"
        f"    if str(path[0]).endswith({room!r}):\n"
        f"        path.append({str(tmp_path)!r})\n"
        "    return listed(path)\n"
        "pkgutil.iter_modules = with_one_more\n"
        "from lengthwise.experiments.run_config import RunConfig\n"
        f"values = {{'task': 'addition', 'scheme': 'sequential', 'encoding': 'nope', {kind!r}: 'brand-new'}}\n"
        f"assert RunConfig.from_json(values).{kind}.name == 'brand-new'\n"
        "assert 'torch' not in sys.modules\n"
        "from lengthwise.cli.main import app\n"
        "app(['list'], standalone_mode=False)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert "brand-new" in run.stdout


def test_the_rest_of_the_source_lists_no_members():
    """A list or a set that names most members would be a second place to edit."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
                children = node.keys if isinstance(node, ast.Dict) else node.elts
                listed = {child.value for child in children if isinstance(child, ast.Constant)}
                for names in (set(ENCODINGS), set(SCHEMES)):
                    assert len(listed & names) <= len(names) // 2, f"{path}:{node.lineno} lists {listed & names}"


def test_every_encoding_is_tested_against_its_formula():
    """A test builds it by name and compares it with a second implementation."""
    folder = Path(__file__).parents[1] / "positions"
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("test_*formulas.py")))
    missing = [name for name in ENCODINGS if f'"{name}"' not in text]
    assert not missing
