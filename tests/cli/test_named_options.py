"""The library's messages name parameters, and commands name only options that they have, in help and messages.

`Terminal` holds the messages that the tests of the command line provoke to the same rule.
"""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest
from named_options import OPTION, OTHER_TOOLS, commands, missing_options, options_of
from named_options import command as command_of

from lengthwise.cli.main import COMMANDS, GROUPS, main
from lengthwise.cli.options import with_flags

SOURCES = Path(__file__).parents[2] / "src" / "lengthwise"
OTHERS = (
    "forecast/advice.py",
    "forecast/predict.py",
    "forecast/forecasts.py",
    "explanation/advice.py",
    "experiments/run_directory.py",
    "report/summary.py",
)
"""What prints whole commands; tests/forecast, tests/explanation and test_code_of_commands run these as written."""


class Texts(ast.NodeVisitor):
    """Collects the string literals of a module without its docstrings; ``…`` stands for a value."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        parts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
        self.found.append("".join(map(str, parts)))

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.found.append(node.value)


def messages(path: Path) -> list[str]:
    """The texts of a module that name an option: no declarations, and without the option that the user has given."""
    texts = Texts()
    texts.visit(ast.parse(path.read_text(encoding="utf-8")))
    named = [text for text in texts.found if OPTION.search(text) and not re.fullmatch(r"--[a-z-]+(=.*)?", text)]
    return [re.sub(r"^--[a-z-]+( and --[a-z-]+)?( … is a file)? ?(?=must|needs|exclude|are|;|…|is)", "", text)
            for text in named]  # fmt: skip


@functools.cache
def modules() -> dict[str, list[str]]:
    """The texts of each module that has any; read by the tests, since every process of a suite collects them."""
    texts = {path.relative_to(SOURCES).as_posix(): messages(path) for path in sorted(SOURCES.rglob("*.py"))}
    return {module: found for module, found in texts.items() if found}


def in_file(module: str) -> list[str]:
    """The commands that a file of the command line defines."""
    stem = Path(module).stem
    groups = [name for name, file in GROUPS.items() if file == stem]
    inner = [name for name in commands() if name.partition(" ")[0] in groups]
    return [*inner, *(name for name, file in COMMANDS.items() if file == stem)] or commands()


def test_no_message_of_the_library_names_a_flag() -> None:
    """They name parameters; `with_flags` writes those of the command as flags."""
    for module, texts in modules().items():
        for text in texts if not module.startswith(("cli/", *OTHERS)) else ():
            assert not OPTION.search(OTHER_TOOLS.sub("", text)), (module, text)


def test_messages_of_a_command_name_its_own_options() -> None:
    for module, texts in modules().items():
        for text in texts if module.startswith("cli/") else ():
            assert any(missing_options(name.split(), text) == [] for name in in_file(module)), (module, text)


def test_parameters_in_messages_become_flags_of_the_command() -> None:
    flags = options_of(["run", "addition"])
    assert with_flags("runs is a file; choose another `out`", flags) == "runs is a file; choose another --out"
    assert with_flags("jobs must be at least 1, got 0", flags) == "--jobs must be at least 1, got 0"
    assert with_flags("changes needs key=value, got 'x'", flags) == "--set needs key=value, got 'x'"
    for other in ("examples must be at least 1", "see `lengthwise list`, `nothing` and `out_of`", "out of time"):
        assert with_flags(other, flags) == other
    for message, shown in (
        ("give seeds=3 or a smaller max_length.", "give --seeds 3 or a smaller --max-length."),
        (
            "see 'max_length' and training.max_length, x/max_length",
            "see 'max_length' and training.max_length, x/max_length",
        ),
        ("write lw.run(seeds=3). Known: max_length, seeds", "write lw.run(seeds=3). Known: max_length, seeds"),
    ):
        assert with_flags(message, flags) == shown
    assert with_flags("max_length must be at least 1", options_of(["compare"])) == "--max-length must be at least 1"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["compare", "copy", "--max-length", "0"], "--max-length must be at least 1, got 0"),
        (["verify", "a*", "--budget", "soon"], "--budget must be a time such as 90s, 10m or 1h, got 'soon'"),
        (["couple", "copy", "--examples", "3"], "--examples must be in 50..1000000, got 3"),
        (["show", "copy", "--set", "letters"], "--set needs key=value, got 'letters'"),
        (["lm", "train", "--text", "nowhere"], "no file or folder at nowhere; check --text"),
        (["lm", "train", "--text", "a", "--dataset", "b"], "give --text or --dataset, not both"),
    ],
)
def test_the_command_line_prints_flags(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("name", commands())
def test_help_names_options_that_the_command_has(name: str) -> None:
    found = command_of(name.split())
    for text in (found.help or "", *(getattr(parameter, "help", None) or "" for parameter in found.params)):
        assert missing_options(name.split(), text) == [], text


def test_a_foreign_option_is_found() -> None:
    assert missing_options(["report", "runs"], "cannot write; choose another --out") == ["--out"]
    assert missing_options(["run", "addition"], "choose another --out") == []
    assert missing_options(["report"], "write one with `lengthwise lm train --windows 3`") == ["--windows"]
    assert missing_options(["lm", "train"], "choose a smaller --context, or --tokenizer bytes") == []
    assert "--print-config" in options_of(["run", "addition"])
    assert "cli/run.py" in modules()
