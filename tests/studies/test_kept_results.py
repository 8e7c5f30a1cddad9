"""No result file that a commit added is missing: each is in the tree, as a current or as a superseded one."""

from __future__ import annotations

import importlib.util
import subprocess
from functools import cache
from pathlib import Path
from types import ModuleType

from lengthwise.core.result_file import SUPERSEDED, result_files
from lengthwise.report.summary import load

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"


def _keep() -> ModuleType:
    spec = importlib.util.spec_from_file_location("keep", ROOT / "studies" / "keep.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


KEEP = _keep()


@cache
def in_tree() -> dict[str, Path]:
    """The result files of the tree by SHA-256."""
    return KEEP.in_tree()


def _missing(lines: list[str], there: dict[str, Path]) -> list[str]:
    return [line for line in lines if line.split()[0] not in there]


def test_every_listed_version_is_in_the_tree() -> None:
    lines = KEEP.LIST.read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 621
    assert _missing(lines, in_tree()) == []


def test_the_check_finds_a_removed_file() -> None:
    line = KEEP.LIST.read_text(encoding="utf-8").splitlines()[0]
    rest = {name: path for name, path in in_tree().items() if name != line.split()[0]}
    assert _missing([line], rest) == [line]


def test_every_version_of_the_history_is_in_the_tree() -> None:
    """Where there is no history (an archive, a clone of one commit) the list above has to do."""
    try:
        shallow = KEEP.git("rev-parse", "--is-shallow-repository").decode().strip() == "true"
    except (OSError, subprocess.CalledProcessError):
        shallow = True
    versions = [] if shallow else list(KEEP.added())
    missing = [
        f"{commit} {path}"
        for commit, path, contents in versions
        if path.endswith(KEEP.NAMES) and KEEP.digest(contents) not in in_tree()
    ]
    assert missing == [], "bring them back: python studies/keep.py"


def test_superseded_results_are_never_read_as_current() -> None:
    for recipe in ("huang", "automatic-coupling"):
        found = result_files(RESULTS / recipe)
        assert found
        assert len(found) < len(list((RESULTS / recipe).rglob("result.json")))
        assert not any(SUPERSEDED in path.parts for path in found)
    old = RESULTS / "automatic-coupling" / SUPERSEDED
    assert len(load([old])) == len(list(old.rglob("result.json")))  # asked for by name, they are read
