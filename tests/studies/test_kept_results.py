"""No result file that a commit added is missing: each is in the tree, as a current or as a superseded one."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import keep
from table_parts import results

from lengthwise.core.result_file import SUPERSEDED, result_files
from lengthwise.report.summary import load


@cache
def in_tree() -> dict[str, Path]:
    """The result files of the tree by SHA-256."""
    return keep.in_tree()


def _missing(lines: list[str], there: dict[str, Path]) -> list[str]:
    return [line for line in lines if line.split()[0] not in there]


def test_every_listed_version_is_in_the_tree() -> None:
    lines = keep.LIST.read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 621
    assert _missing(lines, in_tree()) == []


def test_the_check_finds_a_removed_file() -> None:
    line = keep.LIST.read_text(encoding="utf-8").splitlines()[0]
    rest = {name: path for name, path in in_tree().items() if name != line.split()[0]}
    assert _missing([line], rest) == [line]


def test_every_version_of_the_history_is_in_the_tree() -> None:
    """Where there is no history (an archive, a clone of one commit) the list above has to do."""
    try:
        shallow = keep.git("rev-parse", "--is-shallow-repository").decode().strip() == "true"
    except (OSError, subprocess.CalledProcessError):
        shallow = True
    versions = [] if shallow else list(keep.added())
    missing = [
        f"{commit} {path}"
        for commit, path, contents in versions
        if path.endswith(keep.NAMES) and keep.digest(contents) not in in_tree()
    ]
    assert missing == [], "bring them back: python studies/keep.py"


def test_superseded_results_are_never_read_as_current() -> None:
    for recipe in ("huang", "automatic-coupling"):
        found = result_files(results(recipe))
        assert found
        assert len(found) < len(list((results(recipe)).rglob("result.json")))
        assert not any(SUPERSEDED in path.parts for path in found)
    old = results("automatic-coupling") / SUPERSEDED
    assert len(load([old])) == len(list(old.rglob("result.json")))  # asked for by name, they are read
