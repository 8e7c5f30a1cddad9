"""What the README and the documentation show is run, or at least understood by the command line.

Python blocks and sessions run, programs are parsed, and console blocks run and print what they show. Commands in shell
blocks run, too; of those that train, `run` prints its configuration, and the others have a test of their own. Nothing
else is left out. Links lead to files, commands to make targets.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import posixpath
import re
import runpy
import shlex
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.exceptions import TyperException

import lengthwise
import lengthwise.hf
import lengthwise.nn
from lengthwise.cli.main import app, main
from lengthwise.crasp.syntax import parse

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
STUDIES = [page for page in sorted((ROOT / "studies").rglob("*.md")) if page.name != "LOG.md"]
KINDS = {"console", "sh", "python", "pycon", "crasp", "text", "toml"}
CHEAP = {"list", "show", "predict", "decide", "check-certificates", "couple", "crasp", "export", "report"}
"""Commands that answer within seconds."""
ELSEWHERE = {
    "audit": "tests/audit/test_audit.py",
    "compare": "tests/cli/test_long_commands.py",
    "demo": "tests/api/test_demo.py",
    "explain": "tests/explanation/test_any_model.py",
    "explore": "tests/api/test_explore.py",
    "generate": "tests/cli/test_generate_command.py",
    "influence": "tests/cli/test_influence_command.py",
    "lm": "tests/cli/test_lm_command.py",
    "verify": "tests/cli/test_stumbles.py",
}
"""Commands that train or measure for minutes, and the file where a test runs each on something small."""
OTHER_PROGRAMS = {"git", "pip", "python3", "lm_eval", "transformers", "curl", "kill"}
CODE = re.compile(r"^\s*(\$ |lengthwise [a-z-]+ |pip |make |import \w|from [\w.]+ import |lw\.)", re.M)
"""What no block of plain text may hold: it would not be run."""
STEPS, MANY = re.compile(r"^steps = [\d_]+$", re.M), re.compile(r"\bsteps=[3-9]\d\d\b")
"""What a test takes 2 of; and hundreds of steps of a call, of which it takes 200: what follows wants a fitted model."""
SEEDS = re.compile(r"^seeds = \d+$", re.M)
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


def test_an_extra_is_installed_by_name_and_in_a_clone() -> None:
    """By name alone it needs a release, and somebody with a clone may have none."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for extras in re.findall(r"pip install 'lengthwise\[(.+?)\]'", text):
            assert f"pip install -e '.[{extras}]'" in text, page


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_blocks_are_of_a_known_kind(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    assert {kind for kind, _ in blocks} <= KINDS
    assert len(re.findall(r"^\s*(?:```|~~~)", text, re.M)) == 2 * len(blocks), "a block that no test sees"


@pytest.mark.parametrize(("page", "text"), _blocks("text"))
def test_plain_text_is_no_code(page: Path, text: str) -> None:
    assert not CODE.search(text), "a block with code has the kind of the code, and runs"


@pytest.mark.parametrize(("page", "text"), _blocks("toml"))
def test_settings_are_those_of_the_example_package(page: Path, text: str) -> None:
    example = tomllib.loads((ROOT / "tests" / "example_package" / "pyproject.toml").read_text(encoding="utf-8"))
    assert tomllib.loads(text)["project"].items() <= example["project"].items()


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
        assert arguments[0] in CHEAP, "a console block runs; write sh for a command that takes longer"
        capsys.readouterr()
        assert main(arguments) == 0
        _shown_in_order(shown, capsys.readouterr().out)


@pytest.mark.parametrize(("page", "text"), _blocks("sh"))
def test_shell_blocks(page: Path, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of a block run one after the other, in a folder where ``runs`` has results."""
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    for name in ("examples", "studies"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "studies" / "golowich" / "results" / "parity-scratchpad", tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["lengthwise"]:
            _run(words[1:])
        elif words[:1] == ["make"]:
            assert set(words[1:]) <= set(targets)
        elif words[:1] == ["python"]:
            assert words[1] == "-m" or (ROOT / words[1]).exists()
        else:
            assert words[0] in OTHER_PROGRAMS, line


def _run(arguments: list[str]) -> None:
    _understood(arguments)
    name = arguments[0]
    if "--probe" in arguments:  # with a budget that ends at once: it says so, and does without
        arguments[arguments.index("--probe") + 1] = "1s"
    if name in CHEAP:
        assert main(arguments) == 0
    elif name == "run":
        assert main([*arguments, "--print-config"]) == 0
    else:
        assert f'"{name}"' in (ROOT / ELSEWHERE[name]).read_text(encoding="utf-8")


@pytest.mark.parametrize("command", sorted({
    command for page in PAGES + STUDIES
    for command in re.findall(r"`lengthwise ([a-z][^`]*)`", page.read_text(encoding="utf-8"))
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
    """The blocks of a page run one after the other, in one namespace and a folder with nothing but the studies.

    A page trains as long as it takes, here for two steps and one seed; `test_the_page_learns_what_it_shows` takes all.
    """
    (tmp_path / "studies").symlink_to(ROOT / "studies")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "page"}
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            for long, short in ((STEPS, "steps = 2"), (SEEDS, "seeds = 1"), (MANY, "steps=200")):
                text = long.sub(short, text)
            exec(compile(text, _name(page), "exec", dont_inherit=True), namespace)


@pytest.mark.slow
def test_the_page_learns_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The blocks of the page on Hugging Face as they stand, with all of their steps."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "howto" / "hugging-face.md").read_text(encoding="utf-8")
    blocks = [block for kind, block in BLOCK.findall(text) if kind == "python"]
    assert STEPS.search(blocks[0])
    exec("\n".join(blocks), {"__name__": "page"})
    counts = [ast.literal_eval(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert [count[32] >= 80 for count in counts] == [True, True]


@pytest.mark.parametrize("page", [page for page in PAGES if "```pycon" in page.read_text(encoding="utf-8")], ids=_name)
def test_sessions(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize(("page", "text"), _blocks("crasp"))
def test_programs(page: Path, text: str) -> None:
    assert parse(text).operations


@pytest.mark.parametrize("page", PAGES + STUDIES, ids=_name)
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


def test_a_section_that_the_package_names_is_there() -> None:
    """In errors and advice, as docs/howto/own-task.md#places."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    named = {*re.findall(r"(docs/[\w/-]+\.md)(?:#([\w-]+))?", source)}
    assert ("docs/howto/own-task.md", "answers-of-variable-length") in named
    for path, section in sorted(named):
        heads = re.findall(r"^#+ (.*)$", (ROOT / path).read_text(encoding="utf-8"), re.M)
        assert section in {"", *map(_anchor, heads)}, f"{path}#{section}"


def test_the_page_on_own_tasks_works_out_answers_of_variable_length() -> None:
    page = (ROOT / "docs" / "howto" / "own-task.md").read_text(encoding="utf-8")
    section = page.partition("## Answers of variable length")[2].partition("\n## ")[0]
    assert section.count("def layout(self, length, rng):") == 2
    for task, shown in (("examples/remove_duplicates.py:RemoveDuplicates", 6), ("binary-addition", 8)):
        assert f"$ lengthwise show {task} --length {shown}\n" in section


def _anchor(head: str) -> str:
    return re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-")


def test_pages_are_on_the_site() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")]
    pages += [page.relative_to(ROOT) for page in (ROOT / "studies").rglob("*.md")]
    for page in pages:
        assert f": {page.as_posix()}\n" in site


@pytest.mark.parametrize("page", sorted([*(ROOT / "docs").rglob("*.md"), *STUDIES]), ids=_name)
def test_links_lead_to_the_same_on_the_site(page: Path) -> None:
    """The hook of mkdocs moves links along with the pages: what it writes leads to a page or picture of the site."""
    hook: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "hook.py"))
    on_site = _name(page).removeprefix("docs/")
    for target in re.findall(r"\]\(([^)\s]+)\)", hook["for_the_site"](page.read_text(encoding="utf-8"), on_site)):
        path = target.partition("#")[0]
        if path and ":" not in path:
            place = posixpath.normpath(posixpath.join(posixpath.dirname(on_site), path))
            assert not place.endswith(".ipynb"), "a notebook is a page of the site"
            place = re.sub(r"^(notebooks/.*)\.md$", r"\1.ipynb", place)
            assert (ROOT / place if place.startswith("studies/") else ROOT / "docs" / place).exists(), target


@pytest.mark.parametrize("page", PAGES + STUDIES, ids=_name)
def test_files_and_names_in_the_text_exist(page: Path) -> None:
    """Files in backticks are in the repository, the package or beside the page; dotted names can be imported."""
    text = page.read_text(encoding="utf-8")
    places = (ROOT, ROOT / "src" / "lengthwise", page.parent, ROOT / "studies")
    for name in re.findall(r"`(?:python )?([a-z_][\w./-]*/[\w.-]+\.(?:py|md|sh|json|crasp))(?: [^`]*)?`", text):
        assert any((place / name).exists() for place in places) or name.startswith(("path/", "runs/")), name
    for name in re.findall(r"`(?:lw|lengthwise)\.([a-zA-Z][\w.]*)", text):
        _import(f"lengthwise.{name}".rstrip("."))


def _import(name: str) -> None:
    module: Any = lengthwise
    so_far = "lengthwise"
    for part in name.split(".")[1:]:
        so_far += f".{part}"
        try:
            module = getattr(module, part)
        except AttributeError:
            module = importlib.import_module(so_far)


PUBLIC = [
    *(f"lengthwise.{name}" for name in lengthwise.__all__ if name != "__version__" and name not in lengthwise._MODULES),
    *(f"lengthwise.hf.{name}" for name in lengthwise.hf.__all__),
    *(f"lengthwise.nn.{name}" for name, value in vars(lengthwise.nn).items() if isinstance(value, type)),
    *(f"lengthwise.testing.{name}" for name in ("check_task", "check_scheme", "check_encoding", "LawError")),
]


def test_every_public_name_is_in_the_reference() -> None:
    pages = [ROOT / "docs" / "reference.md", *(ROOT / "docs" / "reference").glob("*.md")]
    described = re.findall(r"^::: ([\w.]+)$", "\n".join(page.read_text(encoding="utf-8") for page in pages), re.M)
    assert len(described) == len(set(described))
    assert set(PUBLIC) <= set(described), set(PUBLIC) - set(described)
    for name in set(described) - {"lengthwise.Preset"}:  # an alias of strings has no text of its own
        module, _, attribute = name.rpartition(".")
        assert (getattr(importlib.import_module(module), attribute).__doc__ or "").strip(), name


def test_every_package_is_named_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:lengthwise\.|lw\.)?(\w+)`", page))
    assert set(lengthwise._MODULES) <= named, set(lengthwise._MODULES) - named


def test_every_term_has_one_place_on_the_page_of_concepts() -> None:
    page = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
    terms = [term for row in re.findall(r"^\| (.*?) \|", page, re.M) for term in re.findall(r"\*\*(.+?)\*\*", row)]
    assert len(terms) == len(set(terms)), sorted(term for term in terms if terms.count(term) > 1)
    assert {"decided", "held", "end mark", "communication bound", "verdict", "forecast", "probe"} <= set(terms)


def test_the_old_table_is_called_what_it_is() -> None:
    """The 25 tasks were searched with their results in view, so no text calls their table a prediction."""
    texts = [*PAGES, ROOT / "CHANGELOG.md", *(ROOT / "src").rglob("*.py")]
    # The blind study's predictions were written down before any training.
    for path in [path for path in texts if "blind" not in path.read_text(encoding="utf-8")]:
        text = " ".join(path.read_text(encoding="utf-8").split())
        assert not re.search(r"as predicted|cells? (that )?(is|are|was|were) predicted|predicted (yes|no)\b", text), (
            path
        )
    searched = [ROOT / "CHANGELOG.md", ROOT / "studies" / "huang" / "README.md"]
    for path in searched:
        assert "after a search on these 25 tasks" in " ".join(path.read_text(encoding="utf-8").split())


def test_files_that_the_architecture_names_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for name in re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py)?)`", page):
        assert any((place / name).exists() for place in (ROOT, ROOT / "src" / "lengthwise")), name
    for name, file in re.findall(r"`([A-Za-z_.]+)` in `([a-z_/]+\.py)`", page):
        text = (ROOT / "src" / "lengthwise" / file).read_text(encoding="utf-8")
        for part in name.split("."):
            assert re.search(rf"\b(?:class|def) {part}\b|^{part}\b", text, flags=re.M), (name, file)


@pytest.mark.parametrize(
    "name", ["golowich/golowich_parity.py:golowich_parity", "theory/planted_theory.py:planted_theory"]
)
def test_a_study_runs_from_its_file(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files beside it can be imported, and a function under `lw.study` stands for its recipe."""
    folders = [str(folder) for folder in (ROOT / "studies").iterdir()]
    monkeypatch.setattr("sys.path", [entry for entry in sys.path if entry not in folders])
    assert main(["run", str(ROOT / "studies" / name), "--print-config"]) == 0
