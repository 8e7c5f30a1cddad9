"""The table kind × command of the page on reliability: every command has a row of each kind, and every test exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from lengthwise.cli.main import COMMANDS, GROUPS

ROOT = Path(__file__).parents[2]
ROWS = re.findall(
    r"^\| (\d+) [^|]+ \| ([^|]+) \| ([^|]+) \|$", (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8"), re.M
)


@pytest.mark.parametrize("kind", range(1, 11))
def test_every_command_has_a_row(kind: int) -> None:
    rows = [(commands, test) for number, commands, test in ROWS if int(number) == kind]
    named = [name for commands, _ in rows for name in re.findall(r"`([^`]+)`", commands)]
    assert len(named) == len(set(named))
    assert set(named) <= {*COMMANDS, *GROUPS}
    assert set(named) == {*COMMANDS, *GROUPS} or rows[-1][0] in ("all", "the others")


@pytest.mark.parametrize("test", sorted({test for _, _, test in ROWS if test.startswith("`")}))
def test_every_test_exists(test: str) -> None:
    file, name = test.strip("`").split("::")
    nodes = ast.walk(ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8")))
    assert name in {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
