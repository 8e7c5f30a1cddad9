"""What the repository holds: at most 40 MB, no file over 1 MB, no weights."""

from __future__ import annotations

import datetime
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
CITED = {
    "abstract", "authors", "cff-version", "commit", "contact", "date-released", "doi", "identifiers", "keywords",
    "license", "license-url", "message", "preferred-citation", "references", "repository", "repository-artifact",
    "repository-code", "title", "type", "url", "version",
}  # fmt: skip
"""The keys of the Citation File Format."""


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
    assert package["license"] == cited["license"]
    assert f"\n## {lw.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_citation_follows_the_schema():
    """Rules of the Citation File Format 1.2.0: keys that it knows, those that are required, and kinds of values."""
    yaml = pytest.importorskip("yaml", reason="needs an extra")
    licenses = pytest.importorskip("packaging.licenses", reason="needs packaging 24.2")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= cited.keys() <= CITED
    assert cited["cff-version"] == "1.2.0"
    assert cited["type"] in ("software", "dataset")
    assert licenses.canonicalize_license_expression(cited["license"]) == cited["license"]
    assert isinstance(cited["date-released"], datetime.date), "an ISO date is read as one"
    assert isinstance(cited["version"], str)
    for reference in cited["references"]:
        assert {"type", "title", "authors"} <= reference.keys() <= {*CITED, "year", "notes"}
        assert reference["type"] in ("article", "conference-paper", "proceedings", "report", "software")
        assert isinstance(reference["year"], int)
    for work in (cited, *cited["references"]):
        assert all(isinstance(work[key], str) and work[key] for key in work.keys() & {"message", "title", "notes"})
        assert work["authors"]
        for author in work["authors"]:
            person = author.keys() <= {"given-names", "family-names", "orcid", "affiliation", "email"}
            assert person or ({"name"} <= author.keys() <= {"name", "website", "email", "orcid"})
            assert author
            assert all(isinstance(value, str) and value for value in author.values())


def test_classifiers_are_known_and_agree_with_the_other_lines():
    package = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = package["classifiers"]
    known = pytest.importorskip("trove_classifiers", reason="needs the extra dev").classifiers
    assert set(said) <= known
    # Kept in order, so that one is seen not to be there twice.
    assert said == sorted(set(said))
    pythons = [tuple(map(int, version.split("."))) for version in re.findall(r":: Python :: (3\.\d+)", " ".join(said))]
    (oldest,) = re.findall(r"^>=3\.(\d+)$", package["requires-python"])
    assert pythons == [(3, minor) for minor in range(int(oldest), int(oldest) + len(pythons))]
    first = dict.fromkeys(one.partition(" :: ")[0] for one in said)
    assert first.keys() >= {"Development Status", "Intended Audience", "Operating System", "Topic"}
    assert "License" not in first, "the license is an expression of its own, which excludes these classifiers"
    assert ("Typing :: Typed" in said) is (ROOT / "src" / "lengthwise" / "py.typed").is_file() is True


def test_wheel_and_source_archive_are_small_and_have_the_package_alone(tmp_path: Path):
    pytest.importorskip("hatchling", reason="needs the extra dev")
    made = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    (wheel,), (archive,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    assert max(wheel.stat().st_size, archive.stat().st_size) < 5 * MOST_BYTES
    names = zipfile.ZipFile(wheel).namelist()
    # Templates, programs and coefficients, too.
    sources = ROOT / "src"
    assert {str(path.relative_to(sources)) for path in tracked() if path.is_relative_to(sources)} <= set(names)
    assert {name.partition("/")[0] for name in names} == {"lengthwise", f"lengthwise-{lw.__version__}.dist-info"}


def test_a_release_is_tested_tried_and_of_the_version_that_its_tag_names():
    steps = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    order = ['tags: ["v*"]', "pyproject.toml", "run: .ci/run", "run: make dist", "run: make test-slow"]
    order += ["needs: [build, slow]", "gh-action-pypi-publish"]
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
