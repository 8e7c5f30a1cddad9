"""A number's commit: of the whole package, marked when any of it is edited, and of no stranger's checkout."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lengthwise.experiments.provenance import commit_of


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of two parts in a checkout of its own."""
    folder = tmp_path / "src" / "package"
    for part in ("experiments", "training"):
        (folder / part).mkdir(parents=True)
        (folder / part / "code.py").write_text("")
    (folder / "__init__.py").write_text("")
    me = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "-A"], [*me, "commit", "-qm", "all"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return folder


def test_an_edit_anywhere_in_the_package_is_marked(package: Path) -> None:
    clean = commit_of(package)
    assert len(clean) == 12
    (package / "training" / "code.py").write_text("x = 1")
    assert commit_of(package) == f"{clean}+"
    (package / "training" / "code.py").write_text("")
    assert commit_of(package) == clean
    (package / "training" / "new.py").write_text("")
    assert commit_of(package) == f"{clean}+"


def test_what_is_installed_inside_of_another_checkout_has_no_commit(package: Path) -> None:
    inside = package / "site-packages" / "lengthwise"
    inside.mkdir(parents=True)
    (inside / "__init__.py").write_text("")
    assert commit_of(inside) == "unknown"


def test_nor_has_what_is_in_none(tmp_path: Path) -> None:
    assert commit_of(tmp_path) == "unknown"
