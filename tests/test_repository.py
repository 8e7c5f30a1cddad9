"""What the repository holds: at most 40 MB, no file over 1 MB, no weights."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import lengthwise as lw

ROOT = Path(__file__).parents[1]
MOST_BYTES = 1_000_000


def tracked() -> list[Path]:
    """Every file that git tracks and that is in the tree."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_tracked_file_is_over_one_megabyte():
    assert [(str(path), path.stat().st_size) for path in tracked() if path.stat().st_size > MOST_BYTES] == []


def test_the_release_says_one_version_everywhere():
    package = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = dict(re.findall(r"^(\S+): (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), flags=re.M))
    assert package["version"] == lw.__version__ == cited["version"]
    assert f"\n## {lw.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "license", "date-released"} <= cited.keys()
    assert "Typing :: Typed" in package["classifiers"]
    assert (ROOT / "src" / "lengthwise" / "py.typed").is_file()


def test_no_weights_are_tracked():
    assert [path for path in tracked() if path.suffix in {".safetensors", ".pt", ".ckpt", ".pth"}] == []


def test_a_checkout_without_history_has_at_most_40_megabytes():
    assert sum(path.stat().st_size for path in tracked()) <= 40 * MOST_BYTES
