"""What the README and the documentation show is run, or at least understood by the command line.

Python blocks and sessions run, programs are parsed, and console blocks run where that takes seconds, with the output
that they show. Of commands that train, names and options are checked. Links lead to files, commands to make targets.
"""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.exceptions import TyperException

from lengthwise.cli.main import app, main
from lengthwise.crasp.syntax.parser import parse

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
KINDS = {"console", "sh", "python", "pycon", "crasp", "text", "json"}
CHEAP = {"list", "show", "predict", "decide", "couple"}
"""Commands that answer within seconds. ``crasp`` is cheap but for ``learn``."""
BLOCK = re.compile(r"^```(\S*)\n(.*?)^```$", re.M | re.S)


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _blocks(*kinds: str) -> list[Any]:
    found = []
    for page in PAGES:
        blocks = [text for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")) if kind in kinds]
        found += [pytest.param(page, text, id=f"{_name(page)}-{number}") for number, text in enumerate(blocks)]
    return found


def _sessions(text: str) -> list[tuple[list[str], list[str]]]:
    """The commands of a console block, each with the lines that it is shown to print."""
    found: list[tuple[list[str], list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((shlex.split(line[2:], comments=True), []))
        elif found:
            found[-1][1].append(line.rstrip())
    return found


def _understood(arguments: list[str]) -> None:
    """Resolve a command and its options without running it."""
    command: Any = typer.main.get_command(app)
    context: Any = None
    while hasattr(command, "resolve_command"):
        context = command.make_context(command.name, list(arguments), parent=context)
        rest = [*context._protected_args, *context.args]
        _, command, arguments = command.resolve_command(context, rest)
    command.make_context(command.name, list(arguments), parent=context)


def _shown_in_order(shown: list[str], printed: str) -> None:
    """Every line that is shown was printed, in this order; ``…`` stands for any number of lines."""
    lines = [line.rstrip() for line in printed.splitlines()]
    at, skipping = 0, False
    for line in shown:
        if line.strip() == "…":
            skipping = True
            continue
        if skipping:
            assert line in lines[at:], f"not printed: {line!r}"
            at = lines.index(line, at)
        else:
            assert at < len(lines), f"not printed: {line!r}"
            assert lines[at] == line
        at, skipping = at + 1, False


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_blocks_are_of_a_known_kind(page: Path) -> None:
    assert {kind for kind, _ in BLOCK.findall(page.read_text(encoding="utf-8"))} <= KINDS


@pytest.mark.parametrize(("page", "text"), _blocks("console"))
def test_console_blocks(
    page: Path, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    for command, shown in _sessions(text):
        assert command[0] == "lengthwise"
        arguments = command[1:]
        _understood(arguments)
        if arguments[0] in CHEAP or (arguments[0] == "crasp" and arguments[1] != "learn"):
            capsys.readouterr()
            assert main(arguments) == 0
            _shown_in_order(shown, capsys.readouterr().out)


@pytest.mark.parametrize(("page", "text"), _blocks("sh"))
def test_shell_blocks(page: Path, text: str) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["lengthwise"]:
            _understood(words[1:])
        elif words[:1] == ["make"]:
            assert set(words[1:]) <= set(targets)
        elif words[:1] == ["python"]:
            assert words[1] == "-m" or (ROOT / words[1]).exists()


@pytest.mark.parametrize("command", sorted({
    command for page in PAGES for command in re.findall(r"`lengthwise ([a-z][^`]*)`", page.read_text(encoding="utf-8"))
    if not re.search(r"[A-Z]{4}|…|\|", command)
}))  # fmt: skip
def test_commands_in_the_text_exist(command: str) -> None:
    try:
        _understood(shlex.split(command))
    except TyperException as error:
        # In a sentence a command may stand without its arguments.
        if type(error).__name__ != "MissingParameter":
            raise


@pytest.mark.parametrize("page", [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")], ids=_name)
def test_python_blocks(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page run one after the other, in one namespace and an empty folder."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "page"}
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            code = compile(text, _name(page), "exec", dont_inherit=True)
            exec(code, namespace)


@pytest.mark.parametrize("page", [page for page in PAGES if "```pycon" in page.read_text(encoding="utf-8")], ids=_name)
def test_sessions(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize(("page", "text"), _blocks("crasp"))
def test_programs(page: Path, text: str) -> None:
    assert parse(text).operations


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, section = target.partition("#")
        if path.startswith("http"):
            continue
        linked = page if not path else page.parent / path
        assert linked.exists(), target
        if section:
            heads = re.findall(r"^#+ (.*)$", linked.read_text(encoding="utf-8"), re.M)
            assert section in {_anchor(head) for head in heads}, target


def _anchor(head: str) -> str:
    return re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-")


def test_pages_are_on_the_site() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        assert page.relative_to(ROOT / "docs").as_posix() in site


def test_the_old_table_is_called_what_it_is() -> None:
    """The 25 tasks were searched with their results in view, so no text calls their table a prediction."""
    texts = [*PAGES, ROOT / "CHANGELOG.md", *(ROOT / "src").rglob("*.py")]
    # The blind study's predictions were written down before any training.
    for path in [path for path in texts if "blind" not in str(path.relative_to(ROOT))]:
        text = " ".join(path.read_text(encoding="utf-8").split())
        assert not re.search(r"as predicted|cells? (that )?(is|are|was|were) predicted|predicted (yes|no)\b", text), (
            path
        )
    searched = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "docs" / "results" / "huang.md"]
    for path in searched:
        assert "after a search on these 25 tasks" in " ".join(path.read_text(encoding="utf-8").split())


def test_files_that_the_architecture_names_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for name in re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py)?)`", page):
        assert (ROOT / "src" / "lengthwise" / name).exists(), name
