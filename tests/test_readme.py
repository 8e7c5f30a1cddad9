"""The first screen: a sentence, a picture, an install line, Python with output. test_documentation.py runs it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 90


def test_a_sentence_a_picture_an_install_line_and_python_come_first() -> None:
    pictures = re.findall(r"!\[[^]]+\]\((\S+)\)", README)
    assert all((ROOT / picture).read_text(encoding="utf-8").startswith("<") for picture in pictures)
    order = ["**`lengthwise` tells you", "![", "## Install", "```pycon\n>>> import lengthwise as lw", "lengthwise demo"]
    assert [README.index(text) for text in order] == sorted(README.index(text) for text in order)


def test_python_is_five_lines_with_output() -> None:
    (block,) = re.findall(r"## Five lines of Python\n\n```pycon\n(.*?)```", README, re.S)
    assert sum(line.startswith(">>> ") for line in block.splitlines()) == 5
    assert sum(not line.startswith(">>> ") for line in block.splitlines()) > 4


def test_it_says_for_whom_it_is_and_how_far_to_trust_it() -> None:
    (whom,) = re.findall(r"^\*\*For whom\.\*\* (.+)", README, re.M)
    assert whom
    trust = README.partition("## How far to trust it\n")[2].partition("\n## ")[0].strip()
    assert len(trust.splitlines()) == 1
    assert len(trust) < 210, "one line with a link"
    (study,) = re.findall(r"\]\((studies/[^)]+)\)", trust)
    assert (ROOT / study).exists()


def test_the_demonstration_is_said_to_take_as_long_in_all_places() -> None:
    from lengthwise.cli import run

    assert "in about a minute and a half" in README
    assert any("about a minute and a half" in line for line in run.OPENING)


def test_it_installs_from_a_clone_and_by_name() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", README, flags=re.S)
    commands = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    assert ["pip", "install", "lengthwise"] in commands
    assert ["pip", "install", "-e", "."] in commands
    assert next(command for command in commands if command[0] == "git")[:4] == ["git", "clone", "--depth", "1"]
