"""House rules over the whole source: no import cycle, studies on public names alone, one name for a test file."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

from lengthwise.languages.automaton import strongly_connected

ROOT = Path(__file__).parent.parent
SOURCE, STUDIES = ROOT / "src" / "lengthwise", ROOT / "studies"


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax tree of every source file, by its path below the package."""
    return {str(path.relative_to(SOURCE)): ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}


def _module(path: str) -> str:
    parts = ["lengthwise", *Path(path).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _without_lazy_names(tree: ast.Module) -> ast.Module:
    """The package's own file without its block for type checkers: those names are loaded when somebody uses them."""
    kept = [node for node in tree.body if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))]
    return ast.Module(kept, tree.type_ignores)


@cache
def import_graph() -> dict[str, set[str]]:
    """Which module imports which, imports inside functions and for type checkers included."""
    modules = {_module(path) for path in trees()}
    graph: dict[str, set[str]] = {}
    for path, tree in trees().items():
        wanted = set()
        for node in ast.walk(_without_lazy_names(tree) if path == "__init__.py" else tree):
            if isinstance(node, ast.Import):
                wanted |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                assert node.level == 0, f"{path} uses a relative import"
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                wanted |= names & modules or {node.module}
        graph[_module(path)] = wanted & modules - {_module(path)}
    return graph


def test_no_import_cycle_deferred_imports_included():
    graph = import_graph()
    names = list(graph)
    number = {name: index for index, name in enumerate(names)}
    components = defaultdict(set)
    for name, component in zip(
        names, strongly_connected([[number[n] for n in graph[name]] for name in names]), strict=True
    ):
        components[component].add(name)
    cycles = [sorted(members) for members in components.values() if len(members) > 1]
    assert cycles == []


def test_the_cycle_test_sees_deferred_imports():
    assert "lengthwise.crasp.syntax" in import_graph()["lengthwise.crasp.library"]


def _private_or_deep(tree: ast.Module) -> list[str]:
    """What a study takes of the library other than by ``import lengthwise as lw`` and public names."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "lengthwise":
            found.append(f"line {node.lineno}: from {node.module} import …")
        if isinstance(node, ast.Import):
            found += [f"line {node.lineno}: {a.name}" for a in node.names if a.name.startswith("lengthwise.")]
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            whole = ast.unparse(node)
            if whole.startswith("lw."):
                found.append(f"line {node.lineno}: {whole}")
    return found


def test_studies_use_public_names_alone():
    found = {
        str(path.relative_to(ROOT)): wrong
        for path in STUDIES.rglob("*.py")
        if (wrong := _private_or_deep(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found == {}


def test_the_rule_for_studies_sees_each_way_around_it():
    source = (
        "from lengthwise.tasks import TASKS\nimport lengthwise.tasks\n"
        "import lengthwise as lw\nlw.tasks._x\nlw.task('copy')"
    )
    assert len(_private_or_deep(ast.parse(source))) == 3


def test_no_two_test_files_share_a_name():
    """Without packages, pytest imports a test by its file name alone."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py") if not (path.parent / "__init__.py").exists()]
    assert sorted(names) == sorted(set(names))


FIRST_STEP = """
import json, sys
from importlib import import_module
from lengthwise.cli.main import main

class FirstStepError(BaseException):
    pass

source, out = sys.argv[1:]
under_way, called_again, inside = [], [], False

def place_of(frame):
    _, ours, path = frame.f_code.co_filename.partition(f"{source}/")
    return (path.partition("/")[0], frame.f_code.co_qualname) if ours else None

def watch(frame, event, _):
    global inside
    if event != "call" or (place := place_of(frame)) is None:
        return
    inside = inside or place == ("api", "run")
    if inside and place[0] == "cli":
        called_again.append(place[1])
    if place == ("training", "Trainer.step"):
        sys.setprofile(None)
        while frame is not None:
            under_way.extend([place] if (place := place_of(frame)) else [])
            frame = frame.f_back
        raise FirstStepError

import_module("lengthwise.training.trainer")  # torch is slow to load under a profiler
sys.setprofile(watch)
try:
    main(["run", "addition", "--set", "training.steps=2", "--out", out])
except FirstStepError:
    print(json.dumps([under_way, called_again]))
"""


def test_a_run_goes_down_to_its_first_step_and_never_back_to_the_command_line(tmp_path: Path) -> None:
    """Functions under way at the first training step of ``lengthwise run addition``, and none of `cli` called again.

    Counted by Python's own profiler, in a process of its own: the functions of this package on the stack when
    `Trainer.step` is called.
    """
    words = [sys.executable, "-c", FIRST_STEP, str(SOURCE), str(tmp_path / "out")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    under_way, called_again = json.loads(done.stdout.splitlines()[-1])
    packages = [package for package, _ in reversed(under_way)]
    assert under_way[-1] == ["cli", "main"]
    assert len(under_way) <= 40, under_way
    assert not called_again
    assert packages == sorted(packages, key=["cli", "api", "experiments", "training"].index)
