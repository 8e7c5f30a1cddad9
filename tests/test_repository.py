"""What the repository holds: at most 40 MB, no file over 1 MB, no weights."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
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


def test_wheel_and_source_archive_are_small_and_have_the_package_alone(tmp_path: Path):
    pytest.importorskip("hatchling", reason="needs the extra dev")
    made = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    (wheel,), (archive,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    assert max(wheel.stat().st_size, archive.stat().st_size) < 5 * MOST_BYTES
    names = zipfile.ZipFile(wheel).namelist()
    assert "lengthwise/py.typed" in names
    assert {name.partition("/")[0] for name in names} == {"lengthwise", f"lengthwise-{lw.__version__}.dist-info"}


def test_a_release_is_tested_tried_and_of_the_version_that_its_tag_names():
    steps = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    order = ['tags: ["v*"]', "pyproject.toml", "run: .ci/run", "run: make dist", "gh-action-pypi-publish"]
    assert [steps.index(step) for step in order] == sorted(steps.index(step) for step in order)


def test_the_demonstration_installs_no_extras():
    rules = dict(re.findall(r"^(\S+): ?(.*(?:\n\t.*)*)", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    needed, *commands = rules["demo"].splitlines()
    assert [line.split()[:2] for line in commands] == [["$(BIN)/lengthwise", "demo"]]
    assert re.findall(r"-e (\S+)", rules[needed]) == ["."]


def test_no_weights_are_tracked():
    assert [path for path in tracked() if path.suffix in {".safetensors", ".pt", ".ckpt", ".pth"}] == []


def test_a_checkout_without_history_has_at_most_40_megabytes():
    assert sum(path.stat().st_size for path in tracked()) <= 40 * MOST_BYTES
