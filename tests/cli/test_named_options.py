"""Commands name only options that they have: in their help, and in every message that the source holds.

`Terminal` holds the messages that the tests of the command line provoke to the same rule.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from named_options import OPTION, commands, missing_options, options_of
from named_options import command as command_of

SOURCES = Path(__file__).parents[2] / "src" / "lengthwise"
IN_FOLDERS = "run, compare, demo, verify, influence, blind run"
ON_TEXT = "influence, lm train, lm extend"
SHOWN_BY = {
    "audit/": "audit",
    "audit/export/": "export",
    "audit/questions.py": "audit, export",
    "cli/blind.py": "blind run",
    "cli/cluster.py": "run",
    "cli/compile.py": "crasp compile",
    "cli/decide_view.py": "decide",
    "cli/blind_view.py": "blind run, blind table, verify",
    "cli/example_view.py": "show",
    "cli/lm.py": "lm train, lm extend",
    "cli/threads.py": "run, compare, verify",
    "core/config.py": "run, plan, show, couple",
    "core/files.py": f"{IN_FOLDERS}, audit, lm train",
    "experiments/blind/": "verify",
    "experiments/blind/study.py": "verify, blind run",
    "influence/lm.py": "influence, run, lm train",
    "influence/models/": "influence",
    "influence/text/": ON_TEXT,
    "models/limit.py": "crasp compile, regularizer",
    "prediction/search/": "crasp learn",
    "prediction/shown_task/": "show",
    "training/distributed/": "run",
    "workflows/bench/": "bench",
    "workflows/influence.py": "influence",
    "workflows/task_influence.py": "influence",
    "workflows/verify.py": "verify",
}
"""The commands that show the messages of a file or folder; the longest path counts. Else, `cli/x.py` is command x."""


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


MODULES = {
    path.relative_to(SOURCES).as_posix(): found for path in sorted(SOURCES.rglob("*.py")) if (found := messages(path))
}


def shown_by(module: str) -> list[str]:
    """The commands that show a module's messages."""
    known = [prefix for prefix in SHOWN_BY if module.startswith(prefix)]
    if known:
        return SHOWN_BY[max(known, key=len)].split(", ")
    return [Path(module).stem.rstrip("_").replace("_", "-")] if module.startswith("cli/") else []


@pytest.mark.parametrize("module", MODULES)
def test_messages_name_options_that_the_command_has(module: str) -> None:
    for text in MODULES[module]:
        bare = missing_options([], text)
        if not bare:
            continue
        who = shown_by(module)
        assert who, f"say in SHOWN_BY which commands show this: {text!r}"
        for name in who:
            assert name in commands(), name
            assert missing_options(name.split(), text) == [], f"`lengthwise {name}` can say {text!r}"


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
    assert "cli/trackers.py" in MODULES
