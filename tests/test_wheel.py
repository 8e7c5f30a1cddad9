"""The wheel without extras, in an environment of its own: every command that a newcomer meets first works there.

The new environment shares no folder with the present one. Its site-packages hold the installed wheel, and links to
those distributions of the present one that the wheel needs (without extras), directly or through others: torch would
take minutes to install again. Whatever belongs to an extra alone can't be imported there, which a test makes sure of.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
README = [
    shlex.split(command)
    for command in re.findall(
        r"(?:`|^\$ )lengthwise ((?:predict|show) [^`\n]*)", (ROOT / "README.md").read_text("utf-8"), re.M
    )
    if "examples/" not in command
]
"""The README's commands that answer within seconds and need no clone."""
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input")
TINY = [
    word
    for edit in (
        "training.steps=2", "training.batch_size=4", "training.groups=2", "training.max_length=3", "model.width=16",
        "model.heads=2", "evaluation.lengths=[3]", "evaluation.samples=4", "evaluation.fit_samples=4",
        "evaluation.probe_samples=2",
    )
    for word in ("--set", edit)
]  # fmt: skip


def needed(requirements: Sequence[str]) -> dict[str, Distribution]:
    """The installed distributions that these requirements need, by name; extras of requirements are followed, too."""
    found: dict[str, Distribution] = {}
    waiting = [Requirement(text) for text in requirements]
    seen: set[tuple[str, str]] = set()
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        for extra in ("", *wanted.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            found[name] = distribution(name)
            for text in found[name].requires or []:
                other = Requirement(text)
                if other.marker is None or other.marker.evaluate({"extra": extra}):
                    waiting.append(other)
    return found


def links(names: dict[str, Distribution], target: Path) -> None:
    """Link the top-level modules and the metadata of the distributions into the folder ``target``."""
    for one in names.values():
        tops = {Path(file).parts[0] for file in one.files or []} - {"..", "__pycache__"}
        assert tops, f"{one.name} lists no files"
        for top in tops:
            if not (target / top).exists():
                (target / top).symlink_to(one.locate_file(top))


def run(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, cwd=cwd, env=environment, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done


def requirements(bins: Path) -> list[Requirement]:
    """What the installed wheel says it needs, extras included."""
    (metadata,) = bins.parent.glob("lib/python*/site-packages/lengthwise-*.dist-info")
    return [Requirement(text) for text in Distribution.at(metadata).requires or []]


def without_extras(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


@pytest.fixture(scope="module")
def bins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder ``bin`` of the new environment."""
    folder = tmp_path_factory.mktemp("wheel")
    run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder / "dist", ROOT)
    (wheel,) = (folder / "dist").glob("lengthwise-*.whl")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").stdout.strip())
    run(*PIP, "--python", python, "install", "--no-deps", "--no-index", wheel)
    links(needed([str(one) for one in requirements(python.parent) if without_extras(one)]), site)
    run(*PIP, "--python", python, "check")
    return python.parent


def test_nothing_of_an_extra_is_there_and_the_sources_are_not_either(bins: Path) -> None:
    every = requirements(bins)
    base = needed([str(one) for one in every if without_extras(one)])
    extras = {canonicalize_name(one.name) for one in every if not without_extras(one)} - set(base)
    assert {"transformers", "pandas", "pytest", "ray"} <= extras
    modules = sorted(
        module
        for module, owners in packages_distributions().items()
        if {canonicalize_name(owner) for owner in owners} & extras and module.isidentifier()
    )
    code = (
        "import importlib.util, json, sys, lengthwise\n"
        f"there = [name for name in {modules!r} if importlib.util.find_spec(name)]\n"
        "print(json.dumps([there, lengthwise.__file__, sys.path]))"
    )
    there, file, path = json.loads(run(bins / "python", "-c", code).stdout)
    assert there == []
    assert Path(file).is_relative_to(bins.parent)
    assert not any(str(ROOT / "src") in entry for entry in path)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--help"], "Usage: lengthwise"),
        (["--version"], "lengthwise "),
        (["list"], "variable-assignment"),
        (["show", "addition", "--length", "3"], "depends on"),
        (["predict", "addition", "--why"], "lengthwise compare addition"),
        (["predict", "(ab)*"], "(ab)* with no positions (nope)"),
        (["decide", "(ab)*"], "C-RASP"),
        (["explore", "copy", "(ab)*", "--static", "site"], "written: site/index.html"),
        *((words, words[1]) for words in README),
    ],
)
def test_the_first_commands(bins: Path, words: list[str], says: str, tmp_path: Path) -> None:
    assert says in run(bins / "lengthwise", *words, cwd=tmp_path).stdout


def test_a_run_and_its_page(bins: Path, tmp_path: Path) -> None:
    done = run(bins / "lengthwise", "run", "addition", "--only", "coupled", "--seeds", 1, *TINY, cwd=tmp_path)
    assert "coupled" in done.stdout
    assert "`lengthwise report runs/addition` makes a page" in done.stderr
    (folder,) = (path.parent for path in tmp_path.glob("runs/addition/**/result.json"))
    assert "not learned" in run(bins / "lengthwise", "explain", folder, cwd=tmp_path).stdout
    figures = ["--figures", "figures"]
    run(bins / "lengthwise", "report", "runs/addition", "-o", "page.html", *figures, cwd=tmp_path)
    assert "<svg" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert list((tmp_path / "figures").glob("*.pdf"))


def test_the_notebook_names_load_and_a_missing_extra_is_one_line(bins: Path, tmp_path: Path) -> None:
    code = (
        "import lengthwise as lw\nfrom lengthwise.core.errors import LengthwiseError\n"
        "assert all(hasattr(lw, name) for name in lw.__all__)\n"
        "try:\n    lw.predict('addition').to_frame()\nexcept LengthwiseError as error:\n    print(error)"
    )
    said = run(bins / "python", "-c", code, cwd=tmp_path).stdout.strip()
    assert said == "to_frame needs pandas; install it with: pip install 'lengthwise[pandas]'"


def test_an_unknown_requirement_is_not_passed_over() -> None:
    with pytest.raises(PackageNotFoundError):
        needed(["a-package-that-nobody-wrote"])
