"""Every block of the page that teaches the language is run."""

import doctest
import re
from pathlib import Path

import pytest

from lengthwise.crasp import interpreter, library
from lengthwise.crasp import program as builder
from lengthwise.crasp import program as spelling
from lengthwise.crasp import syntax as parser
from lengthwise.crasp.interpreter import generate
from lengthwise.crasp.syntax import load_program, parse, to_text

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "crasp.md"
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_sessions_print_what_the_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert result.attempted > 20
    assert result.failed == 0


def test_every_block_is_a_program_or_a_session() -> None:
    assert {kind for kind, _ in BLOCKS} == {"crasp", "pycon"}


def test_programs_of_the_page() -> None:
    two_deep, sort = (parse(text) for kind, text in BLOCKS if kind == "crasp")
    assert two_deep == load_program(ROOT / "examples" / "two_deep.crasp")
    assert two_deep.operations == library.get("D-2").operations
    for word in ("x", "zy", "zxy", "yx", "zx"):
        assert generate(sort, [*word, "<sep>"]) == sorted(word)
    assert parse(to_text(sort)) == sort


@pytest.mark.parametrize(
    "module", [builder, interpreter, library, parser, spelling], ids=lambda module: module.__name__
)
def test_docstring_examples(module: object) -> None:
    result = doctest.testmod(module)  # type: ignore[arg-type]
    assert result.attempted > 0
    assert result.failed == 0
