"""House rules over the whole source: sizes of functions and packages, no import cycle, and retired names stay retired.

Each allow-list names what may still break a rule. A list may only shrink.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from lengthwise.languages.automaton import strongly_connected

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "lengthwise"

MOST_LINES, MOST_PARAMETERS, MOST_FILES = 60, 8, 16

LONG_FUNCTIONS: set[str] = {"cli/decide.py decide"}
FIRST_FILE = {
    "loss": "training/trainer.py",
    "run hash": "experiments/run_directory.py",
    "stable local test": "crasp/decide.py",
    "certificate checker": "crasp/checker.py",
    "compile local head": "models/compile.py",
    "planted correlations": "sparsity/planted.py",
    "coupling search": "sparsity/coupling.py",
    "greedy selection": "influence/measure.py",
}
"""Concepts and the file that a reader who knows file names and first docstring lines alone has to open first."""
LISTS = {"tasks", "experiments/recipes", "cli", "positions/encodings", "nn"}
"""Packages with one file per entry; they may hold any number of files."""
CROWDED_PACKAGES: set[str] = set()
CYCLES: set[str] = set()
"""Modules that still import each other, deferred imports included."""

RETIRED = (
    r"\bhears?\b", r"\bsight\b", r"near the processor", r"\bat hand\b", r"\bwhatever\b", r"\ba person\b",
    r"better by", r"comes out the other way",
)  # fmt: skip
"""Phrases that the field's terms have replaced, in source, pages and templates."""
RETIRED_NAMES = {
    "hears", "turns", "turned", "sight", "Sight", "narrowed", "asked", "mix", "hide", "serves", "lowered", "_of_inputs",
    "few", "patient", "brief", "placed", "no_for_all", "excludes_all", "excludes_windows", "excludes_periods",
    "Given", "Took", "Elsewhere", "WITHIN", "FIGURES", "PlantedSample", "Segment",
}  # fmt: skip
"""Names that nothing may have: no class, function, parameter, field or variable."""
RETIRED_FUNCTIONS, RETIRED_FILES = {"claim", "held"}, {"plain.py", "outside.py", "batching.py", "sight.py"}
PREREGISTERED = {"experiments/blind/study.py", "experiments/blind/ladder.py"}
"""Files of the blind study, which keep the words that they were registered with."""


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax tree of every source file, by its path below the package."""
    return {str(path.relative_to(SOURCE)): ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}


@cache
def nodes() -> dict[str, list[ast.AST]]:
    """Every node of each tree, the outer ones first."""
    return {path: list(ast.walk(tree)) for path, tree in trees().items()}


@cache
def functions() -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function and method of the source with the path of its file."""
    return [
        (path, node)
        for path, inside in nodes().items()
        for node in inside
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def test_functions_are_short_and_have_few_parameters():
    found = set()
    for path, node in functions():
        arguments = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        parameters = len(arguments) - (arguments[:1] in (["self"], ["cls"]))
        lines = (node.end_lineno or 0) - node.lineno + 1
        # Functions of the face have every setting in their signature, and a line on each.
        if (lines > MOST_LINES or parameters > MOST_PARAMETERS) and not path.startswith("api/"):
            found.add(f"{path} {node.name}")
    assert found - LONG_FUNCTIONS == set()


def test_packages_have_rooms():
    files = defaultdict(int)
    for path in trees():
        files[str(Path(path).parent)] += 1
    crowded = {package for package, number in files.items() if number > MOST_FILES and package not in LISTS}
    assert crowded - CROWDED_PACKAGES == set()


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
        for node in ast.walk(_without_lazy_names(tree)) if path == "__init__.py" else nodes()[path]:
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
    assert [members for members in cycles if not set(members) <= CYCLES] == []


def test_the_cycle_test_sees_deferred_imports():
    assert "lengthwise.crasp.syntax" in import_graph()["lengthwise.crasp.library"]


def test_retired_phrases_are_gone():
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), *ROOT.glob("examples/*.py"), *SOURCE.rglob("*.html")]
    history = {"LOG.md", "CHANGELOG.md"}
    texts = {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    texts |= {path.name: path.read_text(encoding="utf-8") for path in pages if path.name not in history}
    found = {path for path, text in texts.items() if any(re.search(pattern, text) for pattern in RETIRED)}
    assert found == PREREGISTERED


def names_in(inside: Iterable[ast.AST]) -> set[str]:
    """Every name that a file with these nodes gives to something."""
    found = set()
    for node in inside:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return found


def test_retired_names_are_gone():
    found = {(path, name) for path, inside in nodes().items() for name in names_in(inside) & RETIRED_NAMES}
    found |= {(path, node.name) for path, node in functions() if node.name in RETIRED_FUNCTIONS}
    found |= {(path, "") for path in trees() if Path(path).name in RETIRED_FILES}
    assert found == set()


def test_a_retired_name_is_found_as_field_parameter_and_variable():
    source = "class Sight:\n    few: int\n    def turns(self, asked):\n        self.mix = [brief for brief in asked]\n"
    assert names_in(ast.walk(ast.parse(source))) & RETIRED_NAMES == {"Sight", "few", "turns", "asked", "mix", "brief"}


def test_a_class_or_type_has_a_name_of_its_own():
    defined = defaultdict(list)
    for path, tree in trees().items():
        # Results of the face have the plain noun, also where a package below has one of its own.
        for node in tree.body if not path.startswith("api/") else ():
            if isinstance(node, ast.ClassDef):
                defined[node.name].append(path)
            elif isinstance(node, ast.Assign) and re.match("_?[A-Z].*[a-z]", name := ast.unparse(node.targets[0])):
                defined[name].append(path)
    assert {name: paths for name, paths in defined.items() if len(paths) > 1} == {}


def test_public_methods_have_docstrings_unless_they_override():
    """A method may go without a docstring where a base class, of ours or of a library, documents the same name."""
    classes = defaultdict(list)
    for inside in nodes().values():
        for node in inside:
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(node)

    def bases(node: ast.ClassDef) -> set[str]:
        names, queue = set(), [node]
        for current in queue:
            new = {ast.unparse(base).split("[")[0].split(".")[-1] for base in current.bases} - names
            names |= new
            queue += [other for name in sorted(new) for other in classes.get(name, ())]
        return names

    missing = []
    for path, inside in nodes().items():
        for node in inside:
            if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                continue
            inherited = bases(node)
            documented = {
                method.name
                for name in inherited
                for base in classes.get(name, ())
                for method in base.body
                if isinstance(method, ast.FunctionDef) and ast.get_docstring(method)
            }
            for method in node.body:
                if not isinstance(method, ast.FunctionDef) or method.name.startswith("_") or ast.get_docstring(method):
                    continue
                known = method.name in documented or (method.name == "forward" and "Module" in inherited)
                if not known:
                    missing.append(f"{path} {node.name}.{method.name}")
    assert missing == []


def test_a_concept_leads_to_its_file_first():
    def matches(path: str, concept: str) -> int:
        """Words of the concept (their first six letters) in the file name, the path and the first docstring line."""
        line = (ast.get_docstring(trees()[path]) or "").partition("\n")[0].lower()
        stems = [word[:6] for word in concept.split()]
        return sum(2 * (stem in Path(path).name) + (stem in path) + (stem in line) for stem in stems)

    for concept, file in FIRST_FILE.items():
        ranked = sorted(trees(), key=lambda path: -matches(path, concept))
        assert ranked[0] == file, concept
        assert matches(ranked[1], concept) < matches(file, concept), f"{concept}: {ranked[1]} fits as well"


def test_no_two_test_files_share_a_name():
    """Without packages, pytest imports a test by its file name alone."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py") if not (path.parent / "__init__.py").exists()]
    assert sorted(names) == sorted(set(names))
